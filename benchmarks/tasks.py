"""The table of tasks: which data, who takes part, at which sizes, and how results are graded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import contenders as by
from . import data, quality

HALF_DECADES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
GAMMA = 0.01


@dataclass(frozen=True)
class Task:
    """One comparison; the first contender is ours, and the others are measured against it.

    Attributes
    ----------
    sizes : tuple of int
        Where all contenders meet. The short suite takes the first `short` of them.
    growth : tuple of int
        Further sizes at which only ours runs, for the growth curve; the short suite stops at 100,000.
    warm : int
        Rows of the fit before the timed one, which loads libraries and compiled loops: enough of them to be worth the loops.
    limit : float
        Seconds a run may take in the full suite.
    mapped : bool
        Hand the data over as a memory map of their file.
    cold : bool
        Drop that file from the system's cache before every run.
    """

    name: str
    title: str
    make: Callable[[int], dict[str, Any]]
    contenders: tuple[by.Contender, ...]
    sizes: tuple[int, ...]
    grade: quality.Grade
    short: int = 0
    growth: tuple[int, ...] = ()
    warm: int = 1500
    limit: float = 120.0
    mapped: bool = False
    cold: bool = False

    def at(self, size: int) -> tuple[by.Contender, ...]:
        """Who runs at this size."""
        return self.contenders if size in self.sizes else self.contenders[:1]

    def planned(self, full: bool) -> list[int]:
        """The sizes of a suite."""
        if full:
            return sorted({*self.sizes, *self.growth})
        return sorted({*self.sizes[: self.short], *(n for n in self.growth if n <= 100_000)})


_local = partial(by.sklearn, "manifold.LocallyLinearEmbedding", eigen_solver="arpack")
#: scikit-learn counts a point among its own neighbours here, and so gets one more than we do.
_spectral = partial(by.sklearn, "manifold.SpectralEmbedding", keep=by.on_own_graph)
_truth = quality.each({"Procrustes to truth": quality.to_truth})
_agree = {f"Procrustes to {by.SKLEARN}": quality.to_peer(by.SKLEARN)}
_neighbours = quality.each({"5-NN accuracy": quality.five_nearest})
_seeds = {"degrees between seeds": quality.between_seeds}


def _sheet(name: str, method: str, theirs: str, *more: by.Contender, growth: bool = False) -> Task:
    """LLE and its relatives on the Swiss roll."""
    return Task(
        name, f"{method}, Swiss roll, k = 12", data.roll,
        (by.ours(method, n_neighbors=12), _local(method=theirs, n_neighbors=12, upto=50_000), *more),
        (10_000, 50_000, 1_000_000) if growth else (10_000, 50_000),
        quality.each({"R² of truth": quality.explains_truth}), short=1, growth=HALF_DECADES if growth else (), warm=12_000,
    )  # fmt: skip


def _digits(name: str, method: str, *peers: by.Contender, **ours: Any) -> tuple[Task, Task]:
    """Graph embeddings of MNIST: of its 50 principal components, and of the pixels themselves."""
    both = (
        ("mnist", "MNIST reduced to 50 principal components", data.mnist, (10_000, 70_000)),
        ("pixels", "MNIST, 784 pixels", data.mnist_images, (70_000,)),
    )
    reduced, raw = (
        Task(
            f"{kind}-{name}", f"{method}, {what}, k = 10", make, (by.ours(method, n_neighbors=10, **ours), *peers), sizes,
            quality.each(_seeds | {"5-NN accuracy": quality.five_nearest}), short=int(kind == "mnist"), warm=500, limit=75.0,
        )
        for kind, what, make, sizes in both
    )  # fmt: skip
    return reduced, raw


def _picture(name: str, title: str, make: Any, *more: by.Contender) -> Task:
    """Two axes to look at, beside the methods that are made for that."""
    return Task(
        name, f"A picture of {title}; ours by Laplacian eigenmaps", make,
        (
            by.ours("LaplacianEigenmaps", n_neighbors=10),
            by.estimator("UMAP", "umap.UMAP", needs="umap", seeded=False),  # a seed would take its second thread
            *more,
            by.estimator("PaCMAP", "pacmap.PaCMAP", needs="pacmap", seeded=False),
        ),
        (70_000,), quality.each({"5-NN accuracy": quality.five_nearest}), warm=500, limit=240.0,
    )  # fmt: skip


def _pca(
    name: str,
    title: str,
    make: Any,
    n: int,
    *kinds: str,
    more: tuple[by.Contender, ...] = (),
    embed: bool = True,
    axes: int = 50,
    **rest: Any,
) -> Task:
    """Principal components, by us and by scikit-learn's solvers of the given kinds."""
    given = {"n_components": axes, "keep": by.components, "embed": embed}
    peers = (by.sklearn("decomposition.PCA", kind=kind, svd_solver=kind, **given) for kind in kinds)
    return Task(
        name, f"PCA to {axes} components, {title}", make, (by.ours("PCA", **given), *peers, *more), (n,), quality.principal_axes, **rest,
    )  # fmt: skip


def _pca_file(name: str, title: str, cold: bool) -> Task:
    """Principal components of rows in a file, beside what it takes to look at the file once."""
    incremental = by.sklearn(
        "decomposition.IncrementalPCA", kind="incremental", keep=by.components, embed=False, n_components=50, batch_size=10_000,
    )  # fmt: skip
    once = by.Contender("one sum over the file", by.read_once), by.Contender("one copy of the file", by.read_in)
    return _pca(
        name, f"100 features in single precision, from a memory-mapped file {title}, fit only",
        partial(data.decaying, d=100, dtype=np.float32), 1_000_000, "covariance_eigh", more=(incremental, *once), embed=False,
        mapped=True, cold=cold,
    )  # fmt: skip


def _mds(name: str, title: str, **given: str) -> Task:
    """Classical MDS by both libraries; the exact answer is known."""
    both = (by.ours("ClassicalMDS", **given), by.sklearn("manifold.ClassicalMDS", **given, upto=5_000))
    return Task(name, f"Classical MDS, {title}", data.distances, both, (2_000, 5_000, 10_000), _truth, short=1)


def _knn(name: str, title: str, make: Any, n: int, peers: int = 3, short: int = 0) -> Task:
    """Neighbour search alone; the second and third peer are approximate ones, for many features."""
    grade = quality.each({"recall": quality.recall})
    return Task(name, f"12 nearest neighbours, {title}", make, by.knn_contenders()[: 1 + peers], (n,), grade, short)


def _mvu(name: str, title: str, make: Any, k: int, sizes: tuple[int, ...], short: int, *peers: by.Contender) -> Task:
    """Maximum variance unfolding to a certified gap of 1e-3; the gap is recomputed from the embedding and the duals."""
    grade = quality.each({"true gap": quality.unfolding_gap})
    ours = by.ours("MVU", n_neighbors=k, keep=by.unfolded)
    return Task(
        name, f"Maximum variance unfolding, {title}", partial(make, k=k), (ours, *peers), sizes, grade, short,
        warm=80 if peers else 3_000, limit=60.0,
    )  # fmt: skip


def _lda(
    name: str, title: str, make: Any, sizes: tuple[int, ...], grade: quality.Grade, *kinds: str, **rest: Any
) -> Task:
    """Discriminant directions, by us and by scikit-learn's solvers of the given kinds."""
    theirs = partial(by.sklearn, "discriminant_analysis.LinearDiscriminantAnalysis", y="y", keep=by.scalings)
    peers = (theirs(kind=kind, solver=kind) for kind in kinds)
    return Task(name, f"LDA, {title}", make, (by.ours("LDA", y="y", keep=by.components), *peers), sizes, grade, **rest)


_cca = by.ours("CCA", y="Y", n_components=4, keep=by.rotations, embed=False)

TASKS: tuple[Task, ...] = (
    Task(
        "isomap", "Isomap, all pairs, Swiss roll, k = 12", data.roll,
        (by.ours("Isomap", n_neighbors=12), by.sklearn("manifold.Isomap", n_neighbors=12), by.tapkee("isomap", 12)),
        (2_000, 5_000, 10_000), quality.each({"Procrustes to truth": quality.to_truth} | _agree), short=2,
    ),
    Task(
        "landmark-isomap", "Isomap with 200 landmarks, Swiss roll, k = 12", data.roll,
        (by.ours("LandmarkIsomap", n_neighbors=12, landmarks=200), by.tapkee("l-isomap", 12, landmarks=200, upto=100_000)),
        (10_000, 100_000, 1_000_000), _truth, short=2, growth=HALF_DECADES, warm=6000,
    ),
    _sheet("lle", "LLE", "standard", by.tapkee("lle", 12, upto=50_000), growth=True),
    _sheet("hessian-lle", "HessianLLE", "hessian", by.tapkee("hlle", 12)),
    _sheet("ltsa", "LTSA", "ltsa", by.tapkee("ltsa", 12, upto=50_000), growth=True),
    _sheet("modified-lle", "ModifiedLLE", "modified"),
    Task(
        "eigenmaps", "Laplacian eigenmaps, Swiss roll, k = 12", data.roll_graph,
        (
            by.ours("LaplacianEigenmaps", n_neighbors=12, weights="binary", keep=by.on_own_graph),
            _spectral(kind="arpack", eigen_solver="arpack", n_neighbors=13, upto=200_000),
            _spectral(kind="amg", eigen_solver="amg", n_neighbors=13, needs="pyamg", upto=200_000),
            by.tapkee("la", 12, gaussian_kernel_width=1e12, upto=100_000),
        ),
        (50_000, 200_000, 1_000_000), quality.walk_vectors, short=1, growth=HALF_DECADES, warm=12_000,
    ),
    Task(
        "eigenmaps-graph", "Laplacian eigenmaps of one given graph (that of the Swiss roll)", data.roll_graph,
        (
            by.Contender(by.OURS, by.eigenmaps_of_graph, by.on_own_graph),
            _spectral(kind="arpack", eigen_solver="arpack", x="W", affinity="precomputed", upto=200_000),
            _spectral(kind="amg", eigen_solver="amg", x="W", affinity="precomputed", needs="pyamg", upto=200_000),
        ),
        (50_000, 200_000, 1_000_000), quality.walk_vectors, short=1, warm=12_000,
    ),
    *_digits(
        "eigenmaps", "LaplacianEigenmaps", _spectral(eigen_solver="arpack", n_neighbors=11),
        by.tapkee("la", 10, gaussian_kernel_width=1e12, upto=10_000), weights="binary", keep=by.on_own_graph,
    ),
    _digits("lle", "LLE", _local(method="standard", n_neighbors=10, upto=10_000), by.tapkee("lle", 10, upto=10_000))[0],
    *_digits("ltsa", "LTSA", _local(method="ltsa", n_neighbors=10, upto=10_000), by.tapkee("ltsa", 10, upto=10_000)),
    _picture(
        "mnist-picture", "MNIST reduced to 50 principal components", data.mnist, by.Contender("openTSNE", by.tsne, needs="openTSNE"),
    ),
    _picture("pixels-picture", "MNIST, 784 pixels", data.mnist_images),
    _pca("pca", "784 features", partial(data.decaying, d=784), 100_000, "covariance_eigh", "randomized", short=1),
    _pca(
        "pca-float32", "784 features in single precision", partial(data.decaying, d=784, dtype=np.float32), 100_000,
        "covariance_eigh", "randomized", short=1,
    ),
    _pca("pca-narrow", "100 features", partial(data.decaying, d=100), 1_000_000, "covariance_eigh", growth=HALF_DECADES),
    _pca_file("pca-file", "read from the disk", cold=True),
    _pca_file("pca-file-cached", "in the system's cache", cold=False),
    _pca(
        "pca-wide", "5,000 features", data.wide, 1_000, "arpack", "randomized", "full", axes=10, short=1, warm=300,
    ),
    _pca("pca-sparse", "20,000 features, one number in a hundred not zero", data.documents, 2_000, "arpack", axes=10, short=1, warm=300),
    Task(
        "lsa", "Latent semantic analysis to 100 components, 50,000 words, sparse", partial(data.documents, d=50_000),
        (
            by.ours("PCA", n_components=100, center=False, keep=by.components),
            by.sklearn("decomposition.TruncatedSVD", kind="arpack", algorithm="arpack", n_components=100, keep=by.components),
            by.sklearn("decomposition.TruncatedSVD", kind="randomized", n_components=100, keep=by.components),
        ),
        (5_000,), quality.right_vectors, warm=1_000,
    ),
    _mds("mds-points", "from points in ten dimensions", metric="euclidean"),
    _mds("mds-distances", "from their distances", x="D", metric="precomputed"),
    _lda("lda", "784 features, ten classes", data.classes, (20_000, 100_000), quality.discriminant_axes, "eigen", "svd", short=1),
    _lda("lda-wide", "5,000 features, ten classes", data.wide_classes, (1_000,), _neighbours, "svd", warm=300),
    _lda("lda-sparse", "20,000 features, one number in a hundred not zero, 20 classes", data.documents, (2_000,), _neighbours, warm=300),
    Task(
        "cca", "Canonical correlations, two views of 50 features, four pairs, fit only", data.two_views,
        (
            _cca, by.sklearn("cross_decomposition.CCA", y="Y", n_components=4, max_iter=5_000, keep=by.rotations, embed=False, upto=20_000),
            by.Contender("statsmodels", by.canonical, by.coefficients, needs="statsmodels"),
        ),
        (2_000, 20_000, 100_000), quality.each({"degrees to exact": quality.to_canonical_axes}), short=2,
    ),
    Task(
        "cca-file", "Canonical correlations, two memory-mapped views of 50 features, four pairs, fit only", data.two_views,
        (_cca,), (1_000_000,), quality.each({"degrees to exact": quality.to_canonical_axes}), mapped=True,
    ),
    Task(
        "lfda", "LFDA to nine dimensions, 100 features, ten classes of three clusters", data.modes,
        (by.ours("LFDA", n_components=9, y="y"),), (5_000, 50_000), quality.each({"5-NN accuracy": quality.five_nearest}),
        short=1, growth=(5_000, 15_000, 50_000), warm=15_000,
    ),
    Task(
        "sslfda", "SSLFDA to nine dimensions, ten neighbours, half of the labels hidden, the same data", data.modes,
        (by.Contender(by.OURS, by.sslfda_of_neighbours, by.residual),), (5_000, 50_000),
        quality.each({"5-NN accuracy": quality.five_nearest}), short=1, growth=(5_000, 15_000, 50_000), warm=15_000,
    ),
    Task(
        "kernel-pca", "Kernel PCA, Gaussian kernel, 20 features", data.clusters,
        (
            by.ours("KernelPCA", kernel="rbf", gamma=GAMMA),
            by.sklearn("decomposition.KernelPCA", kernel="rbf", gamma=GAMMA, n_components=2, eigen_solver="arpack"),
        ),
        (2_000, 10_000), quality.each({"kernel variance": quality.kernel_variance(GAMMA)} | _agree), short=1,
    ),
    Task(
        "kernel-pca-landmarks", "Kernel PCA with 1,000 landmarks, Gaussian kernel, 20 features", data.clusters,
        (by.ours("KernelPCA", kernel="rbf", gamma=GAMMA, landmarks=1000), by.nystroem_pca(GAMMA, 1000)),
        (200_000,), quality.each({"kernel variance": quality.kernel_variance(GAMMA)}),
    ),
    _mvu(
        "mvu", "Swiss roll, k = 8", data.roll_pairs, 8, (100, 200, 2_000), 2,
        by.cone_program("SCS", 200), by.cone_program("CLARABEL", 200),
    ),
    _mvu("mvu-large", "Swiss roll, k = 6", data.roll_pairs, 6, (20_000, 50_000), 0),
    _mvu("mvu-digits", "8×8 digits, k = 6", data.digit_pairs, 6, (1_797,), 1),
    Task(
        "dimension", "Correlation dimension of normal points in ten dimensions; ours over all pairs", data.normal,
        by.dimension_contenders(), (10_000, 50_000), quality.each({}), short=1, warm=6_000,
    ),
    _knn("knn-3", "Swiss roll, 3 features", data.roll, 100_000, peers=1, short=1),
    _knn("knn-50", "clusters, 50 features", partial(data.clusters, d=50), 100_000),
    _knn("knn-mnist", "MNIST, 784 pixels", data.mnist_images, 70_000),
    *(
        Task(
            f"quality-{d}", f"Quality of two of {d} columns as an embedding of all, by one measure and by all", partial(data.clusters, d=d),
            (
                by.Contender(by.OURS, by.trusted("eigenspan.quality"), by.trust),
                by.Contender(f"{by.OURS}, all measures", by.all_measures, by.trust),
                by.Contender(by.SKLEARN, by.trusted("sklearn.manifold"), by.trust, upto=20_000),
            ),
            (10_000, 20_000) if d == 50 else (10_000,), quality.each({}), short=int(d == 50), warm=3_000, limit=120.0,
        )
        for d in (50, 784)
    ),
    _pca("words-pca", "synthetic word vectors, 100 features", data.words, 100_000, "covariance_eigh"),
    Task(
        "words-lpp", "LPP, synthetic word vectors, 100 features, k = 10", data.words,
        (by.ours("LPP", n_neighbors=10), by.tapkee("lpp", 10, gaussian_kernel_width=1.0)),
        (100_000,), quality.each(_seeds), limit=60.0,
    ),
    Task(
        "words-eigenmaps", "Laplacian eigenmaps, synthetic word vectors, 100 features, k = 10", data.words,
        (
            by.ours("LaplacianEigenmaps", n_neighbors=10, weights="binary", keep=by.on_own_graph),
            _spectral(eigen_solver="arpack", n_neighbors=11),
        ),
        (100_000,), quality.each(_seeds), limit=60.0,
    ),
)  # fmt: skip
