"""Loaded models are bitwise equal to the saved ones; unsupported objects are refused with their path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn
from sklearn import decomposition
from sklearn.base import BaseEstimator
from sklearn.decomposition import FastICA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.manifold import MDS, TSNE
from sklearn.manifold import Isomap as LibraryIsomap
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import (
    KNeighborsTransformer,
    NearestNeighbors,
    NeighborhoodComponentsAnalysis,
    RadiusNeighborsTransformer,
    kneighbors_graph,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

import eigenspan as es
from cases import SIDE_UNFOLDINGS, Case, Data, estimators, over
from eigenspan.errors import InputError, ModelError
from eigenspan.methods.registry import TABLE
from eigenspan.models import archive, describe, schema
from eigenspan.models.tree import Reader, Writer
from helpers import cloud, says

pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")

X = cloud(60, 4)
y = np.arange(60) % 3
GAPS = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
NAMED = pd.DataFrame(X, columns=["a", "b", "c", "é"])
TOGETHER = np.vstack([X, X[:10]])
PLACES = np.where((np.arange(60) < 20)[:, None], cloud(60, 2), np.nan)


def assert_same(a: Any, b: Any, place: str = "") -> None:
    """Check that types, values, memory layouts and all contents are equal."""
    assert type(a) is type(b), place
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), place
        assert a.tolist() == b.tolist() if a.dtype.kind == "O" else a.tobytes() == b.tobytes(), place
        assert not a.flags.c_contiguous or b.flags.c_contiguous, place
        assert not a.flags.f_contiguous or b.flags.f_contiguous, place
    elif sp.issparse(a):
        for name in ("data", "indices", "indptr") if hasattr(a, "indptr") else ("data",):
            assert_same(getattr(a, name), getattr(b, name), f"{place}.{name}")
        assert a.shape == b.shape, place
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), place
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{place}[{i}]")
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), place
        for key in a:
            assert_same(a[key], b[key], f"{place}[{key!r}]")
    elif isinstance(a, float):
        assert a.hex() == b.hex(), place
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    elif isinstance(a, np.random.RandomState):
        assert a.random() == b.random(), place
    elif isinstance(a, KNeighborsTransformer | NearestNeighbors | RadiusNeighborsTransformer):
        assert_same(a.get_params(), b.get_params(), place)
    elif is_dataclass(a):
        for field in fields(a):
            if field.init:
                assert_same(getattr(a, field.name), getattr(b, field.name), f"{place}.{field.name}")
    elif isinstance(a, BaseEstimator):
        assert_same(vars(a), vars(b), place)
    else:
        assert a == b, place


def again(estimator: Any, folder: Any, **options: Any) -> Any:
    """Save and load an estimator."""
    path = folder / "model.eig"
    es.save(estimator, path)
    return es.load(path, **options)


def assert_kept(estimator: Any, new: Any, folder: Any) -> Any:
    loaded = again(estimator, folder)
    assert_same(estimator, loaded, type(estimator).__name__)
    for verb in ("transform", "predict"):
        if hasattr(estimator, verb):
            told, expected = getattr(loaded, verb)(new), getattr(estimator, verb)(new)
            assert type(told) is type(expected)
            np.testing.assert_array_equal(np.asarray(told), np.asarray(expected))
    return loaded


# ---------------------------------------------------------------------- every method
@over([case for case in estimators() if getattr(case.template, "distortions", None) is None])
@pytest.mark.every(6)
def test_every_estimator_round_trips(case: Case, blobs: Data, tmp_path) -> None:
    new = np.vstack([blobs.X[:5], blobs.X[:20] + 0.01])
    assert_kept(case.fitted(blobs), new, tmp_path)


@pytest.mark.parametrize("name", sorted(SIDE_UNFOLDINGS))
@pytest.mark.every(3)
def test_supervised_unfoldings_round_trip(name: str, tmp_path) -> None:
    (row,) = [row for row in TABLE if row.name == name]
    fitted = row.build().fit(X[:30], y[:30])
    assert_kept(fitted, X[:30] + 0.01, tmp_path)


@over([case for case in estimators() if getattr(case.template, "distortions", None) is not None])
def test_parameters_only_used_by_fit_can_be_removed(case: Case, blobs: Data, tmp_path) -> None:
    fitted = case.make().fit(blobs.X, blobs.y)
    with pytest.raises(ModelError, match=says(".distortions is a function (drawn_in)", "set_params(distortions=None)")):
        es.save(fitted, tmp_path / "m.eig")
    assert_kept(fitted.set_params(distortions=None), blobs.X[:7], tmp_path)


#: Other contents: tables with names, other graphs and searches, given distances, generator states, wrappers.
KINDS = {
    "frame": (es.PCA(2), NAMED, None),
    "frame out": (es.PCA(2).set_output(transform="pandas"), NAMED, None),
    "texts": (es.LDA(2), X, np.array(["one", "two", "three"])[y]),
    "objects": (es.LDA(2), X, np.array(["one", "two", "three"], dtype=object)[y]),
    "unlabelled": (es.SDA(1), X, np.where(y == 2, -1, y)),
    "cosine": (es.LaplacianEigenmaps(2, graph=es.KNN(8, metric="cosine")), X, None),
    "radius": (es.Isomap(2, graph=es.Radius(2.5)), X, None),
    "sparse": (es.LPP(2), sp.csr_array(np.where(X > 0, X, 0)), None),
    "sparse graph": (es.LaplacianEigenmaps(2), sp.csr_matrix(np.where(X > 0, X, 0)), None),
    "distances": (es.Isomap(2, metric="precomputed"), pairwise_distances(X), None),
    "landmark distances": (es.LandmarkMDS(2, metric="precomputed"), pairwise_distances(X), None),
    "transformer": (es.LaplacianEigenmaps(2, graph=KNeighborsTransformer(n_neighbors=8)), X, None),
    "radius transformer": (es.LaplacianEigenmaps(2, graph=RadiusNeighborsTransformer(radius=3.0)), X, None),
    "edges": (es.Isomap(2, graph=kneighbors_graph(X, 12, mode="distance")), X, None),
    "anchored": (es.Anchored(es.LaplacianEigenmaps(2)), X, PLACES),
    "counts": (es.ContingencySDR(2), np.random.default_rng(0).poisson(3, size=(30, 8)), None),
    "search": (es.RegularizedSearch(es.SSLFDA(2), {"alpha": [0.1, 1]}), X, np.where(y == 2, -1, y)),
    "random state": (es.LandmarkIsomap(2, random_state=np.random.RandomState(3)), X, None),
    "gaps": (es.PPCA(2), GAPS, None),
    "kernel map": (es.MVU(2, n_neighbors=5, extension="kernel-map"), X, None),
    "eigenfunctions": (es.MVU(2, n_neighbors=5, extension="eigenfunctions"), X, None),
    "single": (es.Isomap(2), X.astype(np.float32), None),
    "copies": (es.LaplacianEigenmaps(2), TOGETHER, None),
    "largest part": (es.Isomap(2, n_neighbors=4, disconnected="largest"), np.vstack([X, X[:20] + 500]), None),
    "exact": (es.LLE(2, graph=es.KNN(8, search="exact")), X, None),
    "solver": (es.PCA(2, solver="dense"), X, None),
    "scaled": (make_pipeline(StandardScaler(), es.PCA(2)), X, None),
    "filled": (make_pipeline(SimpleImputer(), RobustScaler(), MinMaxScaler(), es.LPP(2)), GAPS, None),
    "reduced": (make_pipeline(MaxAbsScaler(), Normalizer(), decomposition.PCA(3), es.Isomap(2)), X, None),
    "truncated": (make_pipeline(TruncatedSVD(3), es.LLE(2)), X, None),
    "components": (es.External(FastICA(2, random_state=0)), X, None),
    "learned metric": (es.External(NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=5)), X, y),
    "t-SNE": (es.External(TSNE(2, perplexity=5, max_iter=250, random_state=0)), X[:30], None),
    "distances kept": (es.External(MDS(2, random_state=0, n_init=1, max_iter=5)), X[:20], None),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")  # scikit-learn warns of future defaults
@pytest.mark.filterwarnings("ignore:.*sparse:UserWarning")
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.every(3)
def test_other_configurations_round_trip(name: str, tmp_path) -> None:
    template, rows, labels = KINDS[name]
    fitted = template.fit(rows) if labels is None else template.fit(rows, labels)
    assert_kept(fitted, rows, tmp_path)


def test_navigable_graph_is_rebuilt_after_loading(tmp_path) -> None:
    pytest.importorskip("faiss")
    fitted = es.LaplacianEigenmaps(2, graph=es.KNN(8, search="hnsw"), n_jobs=1).fit(cloud(200, 20))
    assert_kept(fitted, cloud(20, 20, seed=1), tmp_path)


def test_unfitted_estimator_round_trips(tmp_path) -> None:
    loaded = again(es.LPP(3, graph=es.KNN(5, metric="cosine"), solver=es.LPP().solver), tmp_path)
    assert loaded.get_params(deep=False)["n_components"] == 3
    assert not hasattr(loaded, "map_")
    assert_same(again(es.Kernel("rbf", gamma=np.float32(0.1)), tmp_path), es.Kernel("rbf", gamma=np.float32(0.1)))


def test_model_loads_in_another_process(blobs: Data, tmp_path) -> None:
    """Loading must not need anything imported or created before."""
    names = ("PCA", "Isomap", "LaplacianEigenmaps", "KernelPCA", "MixturePPCA", "External")
    cases = [case for case in estimators() if case.id in names]
    new = blobs.X[:20] + 0.01
    for case in cases:
        es.save(case.fitted(blobs), tmp_path / f"{case.id}.eig")
    np.save(tmp_path / "new.npy", new)
    code = (
        "import sys, pathlib, numpy as np, eigenspan; folder = pathlib.Path(sys.argv[1]); new = np.load(folder / 'new.npy')\n"
        "for path in folder.glob('*.eig'): np.save(path.with_suffix('.npy'), eigenspan.load(path).transform(new))"
    )
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", code, str(tmp_path)], check=True, env=alone)
    for case in cases:
        np.testing.assert_allclose(
            np.load(tmp_path / f"{case.id}.npy"), case.fitted(blobs).transform(new), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("template", [es.PCA(2), es.LDA(2), es.SIR(2), es.PPCA(2), es.CCA(1)], ids=repr)
def test_partial_fit_continues_after_loading(template: Any, tmp_path) -> None:
    second = X[:, :2] if isinstance(template, es.CCA) else y
    template.partial_fit(X[:30], second[:30])
    loaded = again(template, tmp_path)
    for estimator in (template, loaded):
        estimator.partial_fit(X[30:], second[30:])
    np.testing.assert_array_equal(loaded.transform(X), template.transform(X))


# ---------------------------------------------------------------------- the file format
def test_shared_arrays_are_stored_once(tmp_path) -> None:
    fitted = es.LLE(2, n_neighbors=6).fit(X)
    loaded = again(fitted, tmp_path)
    assert fitted.map_.rows.finder is fitted.graph_.finder
    assert loaded.map_.rows.finder is loaded.graph_.finder
    assert loaded.map_.rows.points is loaded.graph_.finder.engine.points
    assert loaded.embedding_.flags.writeable
    assert loaded.embedding_ is not loaded.map_.embedding


def test_numpy_can_open_the_file_and_arrays_are_aligned(tmp_path) -> None:
    fitted = es.PCA(2).fit(X)
    again(fitted, tmp_path)
    with np.load(tmp_path / "model.eig", allow_pickle=False) as arrays:
        stored = [arrays[name] for name in arrays.files if name not in (archive.HEADER, archive.OBJECTS)]
    assert any(np.array_equal(array, fitted.embedding_) for array in stored)
    with zipfile.ZipFile(tmp_path / "model.eig") as whole:
        assert whole.testzip() is None
        extras = [entry.extra for entry in whole.infolist() if entry.extra]
    assert all(int.from_bytes(extra[2:4], "little") == len(extra) - 4 for extra in extras)
    loaded = es.load(tmp_path / "model.eig", mmap_mode="r")
    assert loaded.embedding_.ctypes.data % 64 == 0


@pytest.mark.parametrize("mode", ["r", "c"])
def test_memory_mapped_arrays(mode: Any, tmp_path) -> None:
    fitted = es.Isomap(2).fit(X)
    loaded = again(fitted, tmp_path, mmap_mode=mode)
    assert type(loaded.embedding_) is np.ndarray
    assert loaded.embedding_.flags.writeable == (mode == "c")
    np.testing.assert_array_equal(loaded.transform(X + 0.01), fitted.transform(X + 0.01))
    before = (tmp_path / "model.eig").read_bytes()
    if mode == "c":
        loaded.embedding_[:] = 0
    assert (tmp_path / "model.eig").read_bytes() == before
    with pytest.raises(InputError, match="mmap_mode='r\\+' cannot be used"):
        es.load(tmp_path / "model.eig", mmap_mode="r+")  # type: ignore[arg-type]


def test_describe_returns_the_header(tmp_path) -> None:
    path = tmp_path / "m.eig"
    es.save(es.PCA(2).fit(X), path, provenance={"table": "x.csv", "columns": ["a", "b"], "rows": 60, "é": None})
    told = describe(path)
    assert (told["class"], told["parameters"]["n_components"]) == ("PCA", "2")
    assert told["provenance"] == {"table": "x.csv", "columns": ["a", "b"], "rows": 60, "é": None}
    assert told["versions"]["eigenspan"] == es.__version__
    assert told["saved"].endswith("+00:00")
    assert path.read_bytes().endswith(told["sha256"].encode())


@pytest.mark.parametrize(
    "odd", [{"a": X}, {"a": {1, 2}}, {"a": float("nan")}, {1: 2}, {"a": [{"b": print}]}, [1]], ids=repr
)
def test_invalid_provenance_is_refused(odd: Any, tmp_path) -> None:
    with pytest.raises(InputError, match="provenance"):
        es.save(es.PCA(2), tmp_path / "m.eig", provenance=odd)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- unsupported objects
class Own(es.PCA):
    """A user-defined subclass."""


def _kernel(a: Any, b: Any) -> Any:
    return np.asarray(a) @ np.asarray(b).T


HELD: list[Any] = []
HELD.append(HELD)
REFUSED = {
    "KernelPCA.kernel is a function": (es.KernelPCA(2, kernel=_kernel), X),
    "LaplacianEigenmaps.graph.metric is a function": (
        es.LaplacianEigenmaps(2, graph=es.KNN(8, metric=lambda a, b: abs(a - b).sum())), X[:20]
    ),
    "Own is a test_saving.Own": (Own(2), X),
    "External.estimator is a sklearn.manifold._isomap.Isomap": (es.External(LibraryIsomap()), X),
    "PCA.n_components is a numpy.ma": (es.PCA(np.ma.array([2])), None),
    "PCA.n_components is a set": (es.PCA({2}), None),
    "PCA.n_components is a pandas": (es.PCA(NAMED), None),
    "PCA.random_state is a numpy.random._generator.Generator": (es.PCA(random_state=np.random.default_rng(0)), None),
    "a key of PCA.n_components": (es.PCA({(1, 2): 3}), None),
    "PCA.n_components[0]": (es.PCA([object()]), None),
    "PCA.n_components has the NumPy type": (es.PCA(np.zeros(2, dtype="i4,f8")), None),
    "PCA.n_components is an array of Python objects": (es.PCA(np.array([[1], None], dtype=object)), None),
    "Pipeline cannot be saved: its memory=": (make_pipeline(StandardScaler(), es.PCA(2), memory="cache"), None),
    "nested more than": (es.PCA(HELD), None),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_unsupported_objects_are_refused_with_their_path(words: str, tmp_path) -> None:
    estimator, rows = REFUSED[words]
    if rows is not None:
        estimator.fit(rows)
    with pytest.raises(ModelError, match=says(words)):
        es.save(estimator, tmp_path / "m.eig")
    assert list(tmp_path.iterdir()) == []


def test_cyclic_object_is_refused(tmp_path) -> None:
    round_trip = es.Anchored(es.PCA(2))
    round_trip.set_params(embedding=round_trip)
    with pytest.raises(ModelError, match=says("Anchored.embedding contains itself")):
        es.save(round_trip, tmp_path / "m.eig")


@pytest.mark.parametrize("thing", [es.PCA, "PCA", {"a": 1}, None, X])
def test_save_accepts_only_estimators(thing: Any, tmp_path) -> None:
    with pytest.raises(InputError, match="save needs a fitted estimator"):
        es.save(thing, tmp_path / "m.eig")


# ---------------------------------------------------------------------- unwritable targets
def test_unwritable_targets_are_refused(tmp_path, monkeypatch) -> None:
    fitted = es.PCA(2).fit(X)
    (tmp_path / "file").write_text("x")
    for path, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "absent" / "m.eig", "There is no folder"),
        (tmp_path / "file" / "m.eig", "There is no folder"),
        ("/dev/null", "is a device"),
    ):
        with pytest.raises(ModelError, match=words):
            es.save(fitted, path)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(ModelError, match="cannot be written: No space left"):
        es.save(fitted, tmp_path / "m.eig")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_old_file_is_kept_until_the_new_one_is_complete(tmp_path, monkeypatch) -> None:
    path = tmp_path / "m.eig"
    es.save(es.PCA(2).fit(X), path)
    before = path.read_bytes()
    monkeypatch.setattr(np.lib.format, "write_array", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        es.save(es.PCA(1).fit(X), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_modes_and_links_are_kept(tmp_path) -> None:
    path, link = tmp_path / "m.eig", tmp_path / "latest.eig"
    es.save(es.PCA(2), path)
    free = os.umask(0)
    os.umask(free)
    assert path.stat().st_mode & 0o777 == 0o666 & ~free
    path.chmod(0o640)
    link.symlink_to(path)
    es.save(es.PCA(3), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert es.load(path).n_components == 3


# ---------------------------------------------------------------------- parts
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ARRAYS = stn.arrays(stn.scalar_dtypes(), stn.array_shapes(min_dims=0, min_side=0, max_side=3))
PLAIN = st.recursive(
    LEAVES | ARRAYS,
    lambda inside: st.lists(inside) | st.tuples(inside, inside) | st.dictionaries(st.text() | st.integers(), inside),
    max_leaves=6,
)


@given(value=PLAIN)
@settings(deadline=None, max_examples=50)
def test_any_plain_value_round_trips(value: Any) -> None:
    writer = Writer()
    text = json.dumps(writer.value(value, "x"), allow_nan=False)
    assert_same(Reader(writer.arrays).value(json.loads(text)), value)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices_round_trip(form: str, kind: str, tmp_path) -> None:
    made = getattr(sp, f"{form}_{kind}")(np.diag([1.0, 0, 3, 4]) + np.eye(4, k=1))
    loaded = again(es.PCA(made), tmp_path).n_components
    assert type(loaded) is (type(made) if form in ("csr", "csc", "coo") else sp.csr_array)
    np.testing.assert_array_equal(loaded.toarray(), made.toarray())


def test_temporary_objects_with_reused_ids_are_not_confused(tmp_path) -> None:
    """States of generators are new arrays, which may reuse the ids of earlier ones."""
    states = [np.random.RandomState(seed) for seed in range(20)]
    loaded = again(es.PCA([states]), tmp_path).n_components
    assert [state.random() for state in loaded[0]] == [state.random() for state in states]


def test_types_and_memory_layout_are_kept() -> None:
    values = [
        np.float32(0.1),
        np.int8(-3),
        np.bool_(True),
        np.complex128(1 + 2j),
        np.datetime64("2020-01-01"),
        np.dtype("<f4"),
    ]
    layouts = [
        np.asfortranarray(X),
        X[::-1],
        X.T[1:3],
        X[:, ::2],
        X[:0],
        np.array(3.0),
        np.array([None, "a", 1.5, np.nan], dtype=object),
    ]
    writer = Writer()
    written = writer.value([values, layouts], "x")
    loaded = Reader(writer.arrays).value(written)
    for one, other in zip(values, loaded[0], strict=True):
        assert type(one) is type(other)
        assert one == other
    for one, other in zip(layouts[:-1], loaded[1][:-1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert loaded[1][-1].tolist()[:3] == [None, "a", 1.5]
    (piece,) = [array for array in writer.arrays if array.shape == (2, 60)]
    assert piece.flags.f_contiguous, "products round as the layout has it"


# ---------------------------------------------------------------------- the list of kinds
def test_list_of_kinds() -> None:
    names = schema.kinds()
    assert {"method.PCA", "map.rows", "search.tree", "spec.Kernel", "sklearn.Pipeline", "sparse.csr_array"} <= set(
        names
    )
    for cls in (es.PCA, es.KNN, NearestNeighbors, StandardScaler):
        assert schema.kind_of(cls()) is not None
    for value in (print, os, X, Own(), FutureWarning(), st, pd.DataFrame()):
        assert schema.kind_of(value) is None


def test_every_public_estimator_has_a_kind() -> None:
    public = [getattr(es, name) for name in es.__all__]
    classes = [cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)]
    known = {kind.cls for kind in schema.kinds().values()}
    assert [cls for cls in classes if cls not in known] == []


def test_kernel_learner_predicts_without_the_svm_object(tmp_path) -> None:
    """libsvm trusts its inputs, so its coefficients are stored instead of the SVM object."""
    for labels in (np.where(np.arange(60) < 20, y % 2, -1), np.where(np.arange(60) < 30, y, -1)):
        fitted = es.KernelLearner(["linear", "rbf"]).fit(X, labels)
        loaded = again(fitted, tmp_path)
        assert not hasattr(loaded, "svm_")
        np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
        K = fitted.kernel_[:, fitted.labelled_]
        np.testing.assert_allclose(fitted.decision_function(X), fitted.svm_.decision_function(K), atol=1e-9)
