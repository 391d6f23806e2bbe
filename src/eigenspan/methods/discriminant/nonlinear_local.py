"""Locality within classes, in the feature space of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._parameters import Count, Marker, NotNegative, Verbose, attribute
from ..._types import Index, Matrix
from ...data import Classes, Input, KernelValues, Points, Sample
from ...data.x import as_rows
from ...data.y import ClassLabels
from ...errors import LabelError
from ...graphs import ComputedWeights, affinity, allies, check_n_neighbors
from ...graphs.class_graphs import warn_of_single_labels
from ...graphs.weights.rules import refuse_given
from ...problem import Posed, diagonal, pose
from ...problem.forms import AllPairs, PairWeights, Sparse, pair_affinity
from ..base.contract import Kernels, LandmarkRows, Scale, SpectralReducer, features_of
from ..base.table import known_as, method


@method("discriminant", "min L of pairs of a class", "degree", "n³, or n² D + n m²", "S2 §2.1.1", "snle", "sklpp")
@known_as("Supervised nonlinear local embedding", "supervised kernel LPP")
class SupervisedNonlinearLocalEmbedding(SpectralReducer):
    """Supervised nonlinear local embedding: kernel LPP over the pairs of a class.

    .. math:: \\min_\\alpha \\operatorname{Tr}(\\alpha^T K L K \\alpha) \\quad \\text{s.t. } \\alpha^T K D K \\alpha = I, \\qquad
              w_{ij} = e^{-\\lVert x_i - x_j \\rVert^2 / \\sigma^2} \\text{ within a class, } 0 \\text{ across}

    with L = D − W: nonlinear functions, from a kernel, that bring rows of a class together, near rows more than distant ones.
    [S2, §2.1.1] names the method as a choice of its :math:`C^\\ell` and gives no formula. The problem solved here is that of the same
    authors' supervised kernel locality preserving projections (2005), which uses class labels instead of the neighbourhoods of LPP.

    Functions that are constant on every class have zero cost: the first c − 1 axes separate c classes, and the ridge determines their
    smoothness; further axes show the variation within classes. Use it for classes that no plane separates, and choose kernel and ridge
    by cross-validation. Rows without a label are used by the kernel only, and the map places them.

    Cost: O(n²D) for the weights, in blocks, or the neighbours within classes; O(n³) for the kernel, or O(nm²) with m landmarks.

    Parameters
    ----------
    n_neighbors
        Number of nearest rows of its class that each row is connected to. None means all of them.
    weights
        Weights of pairs, computed from the rows of X (from their images if X is a kernel matrix): ``Heat(sigma)``, where σ
        is half the median distance unless given. For all pairs they must be "heat", "local" or powers of these.
    kernel
        A name, ``Kernel("rbf", gamma="median")``, a kernel of a graph such as ``HeatKernel(t)``, a function of two arrays
        of rows or of two rows, or ``"precomputed"`` if X is the kernel matrix.
    ridge
        ε that keeps the axes short, added to the form that is minimised. None means a small value, which ``diagnostics_``
        reports, because the feature space of a kernel can interpolate any embedding of the training points.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.

    Examples
    --------
    Three rings, one around the other:

    >>> import numpy as np
    >>> from eigenspan import SupervisedNonlinearLocalEmbedding
    >>> rng, y = np.random.default_rng(0), np.arange(300) % 3
    >>> t, r = rng.uniform(0, 2 * np.pi, 300), y + 1 + 0.1 * rng.standard_normal(300)
    >>> X = np.column_stack([r * np.cos(t), r * np.sin(t)])
    >>> Y = SupervisedNonlinearLocalEmbedding(2).fit(X[:200], y[:200]).transform(X[200:])
    >>> Y.shape
    (100, 2)

    References
    ----------
    Cheng, Liu, Lu & Chen (2004), A supervised nonlinear local embedding for face recognition; Cheng, Liu, Lu & Chen (2005), Supervised
    kernel locality preserving projections for face recognition.
    """

    n_neighbors: Count | None = None
    weights: ComputedWeights = "heat"
    kernel: Kernels = "rbf"
    landmarks: LandmarkRows = None
    ridge: NotNegative | None = None
    scale: Scale = None
    unlabeled: Marker = None
    n_jobs: int | None = None
    verbose: Verbose = 0

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = Input(pairs=("kernel",), sparse=True, y=ClassLabels())
    _basis: ClassVar[str] = "kernel"

    def _pose(self, sample: Sample[Points | KernelValues, Classes]) -> Posed:
        basis = features_of(self, sample)  # type: ignore[arg-type]
        if self.n_neighbors is not None:
            check_n_neighbors(self.n_neighbors, sample.x.values)
        rows = sample.x.points
        W = self._within(basis.Z if rows is None else as_rows(rows), sample.y.codes)
        return pose(basis, minimise=W.laplacian(), unit=diagonal(W.degrees()), ridge=self.ridge)

    def _within(self, points: Matrix, codes: Index) -> PairWeights:
        """Return the weights of the pairs of a class, with ones on the diagonal for labelled rows."""
        refuse_given(type(self).__name__, self.weights)
        counts = np.bincount(codes[codes >= 0])
        if counts.max() < 2:
            raise LabelError(
                f"None of the {counts.size} classes has two labelled rows, so there are no pairs within classes: label more rows."
            )
        if self.n_neighbors is None:
            warn_of_single_labels(codes)
            return AllPairs(pair_affinity(points, self.weights, codes=codes, n_jobs=self.n_jobs))
        graph = allies(points, codes, self.n_neighbors, self.n_jobs)
        return Sparse(affinity(graph, self.weights, points).W + sp.diags_array((codes >= 0).astype(float)), graph)
