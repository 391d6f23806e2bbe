"""Kernel learning: the combination of kernels with the largest margin between labelled points, and labels for the other points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import scipy.linalg as la
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._checks import real_numbers
from .._compat import ClassifierMixin, fit_context
from .._diagnostics import collect, note, stage
from .._parameters import Count, Declared, Marker, Positive, Tolerance, attribute, parameter
from .._types import Array, Index, Matrix, TableLike, VectorLike
from ..data.read import checked_rows, is_precomputed
from ..data.rows.storage import refuse_out_of_range
from ..data.x import KernelValues, as_rows
from ..data.y import read_classes
from ..errors import ConvergenceWarning, IndefiniteWarning, InputError, KernelError, warn
from ..methods.base.table import besides, known_as
from ..numerics.eigen import dense
from ..numerics.memory import memory_errors, require
from ..numerics.sdp.margin import MarginSolution, learn_weights
from ..problem.kernels import Kernel, KernelRows, gram_matrix, kernel_rows
from .all_or_nothing import all_or_nothing

if TYPE_CHECKING:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC
    from sklearn.utils import Tags

#: A name, a `Kernel`, a function of two arrays of rows, or a kernel matrix of the training points.
KernelLike: TypeAlias = str | Kernel | Callable[..., ArrayLike] | ArrayLike
Labels: TypeAlias = NDArray[np.generic]

_PSD = 1e-8  #: Negative eigenvalues of a kernel matrix count as rounding up to this share of its norm.
_MOST = 1e30  #: Largest C and trace; the inverse is the smallest.


@besides("learning", "max margin", "trace of K", "kernel", "some labels", "m n² + n³", "S4 eq. 31")
@known_as(
    "Kernel learning for transduction",
    "learning the kernel matrix; kernel matrix learning; kernel matrix with semidefinite programming; "
    "multiple kernel learning; MKL; transduction; transductive learning; support vector machine; soft margin",
    {"margin='l2'": "2-norm soft margin", "margin='hard'": "hard margin"},
)
class KernelLearner(ClassifierMixin, Declared):
    """Kernel learning for transduction: weights of given kernels by semidefinite programming, then a support vector machine.

    .. math:: \\min_{\\mu} \\; \\omega(K), \\quad K = \\sum_i \\mu_i K_i \\succeq 0, \\; \\operatorname{tr} K = c, \\qquad
              \\omega(K) = \\max_{\\alpha} \\; 2\\,\\mathbf{1}^T\\alpha - \\alpha^T (G(K_{tr}) + \\tau I)\\, \\alpha

    over :math:`\\alpha \\ge 0, y^T\\alpha = 0`, with :math:`G_{ij} = y_i y_j K_{ij}` on the labelled points; trace and K ⪰ 0 refer to all
    points. ω is the optimal objective of the support vector machine. [S4, eq. 31] is this problem with the inner maximum replaced by its
    dual, where ν, δ and λ are the multipliers of :math:`\\alpha \\ge 0`, :math:`\\alpha \\le c_2` and :math:`y^T\\alpha = 0`. (In S4, K is
    *one* of a set of kernels. Here it is a combination, as in the source, Lanckriet et al.)

    - ``margin="hard"``: no δ, τ = 0. ω is :math:`\\min \\|w\\|^2`, the inverse of the squared margin.
    - ``margin="l1"``: :math:`\\alpha \\le c_2 = C`, τ = 0. ω is :math:`\\min \\|w\\|^2 + 2C \\sum \\xi_i`, twice the objective of ``SVC``.
    - ``margin="l2"``: no δ, τ = 1/C. ω is :math:`\\min \\|w\\|^2 + C \\sum \\xi_i^2`.
    - ``margin="l1"`` with `tau`: :math:`\\alpha \\le c_2 = C` and τ as given. ω is :math:`\\min \\|w\\|^2 + \\sum h(\\xi_i)` with Huber's
      function: h(ξ) = ξ²/τ up to ξ = Cτ, and 2Cξ − C²τ beyond, so that a violation costs its square if it is small, and no more than its
      size if it is large.

    With more than two classes there is one machine per class against the rest. All share one kernel, and ω is the sum of their objectives.
    A point belongs to the class with the largest decision value.

    Use it if several kernels are plausible. A large margin does not imply few errors: it favours kernels in which all points are far
    apart, such as narrow Gaussians. Leave these out, choose *C* as for any support vector machine, and compare with the average of the
    kernels.

    Cost: O(mn² + n³) for m kernel matrices, then about ten steps of O(ml² + l³) per machine for l labelled points, each with O(mn³) more
    if signs are unrestricted. O(mn²) memory.

    Parameters
    ----------
    kernels : sequence
        Names such as ``"rbf"``, ``Kernel("poly", degree=2)``, functions of two arrays of rows, ``"precomputed"`` if X is a
        kernel matrix, or n×n matrices. Each must be positive semidefinite (once centred, if `center`).
    weights
        μ ≥ 0, so that K ⪰ 0 always holds; or any sign, with K ⪰ 0 on all points. With any sign, combinations of kernels that
        cancel to 1e-5 of their size are left out.
    margin
        Hard margin, or a penalty on the violations of the margin (``"l1"``) or on their squares (``"l2"``).
    C
        Penalty on violations of the margin. It has no effect with ``"hard"``.
    tau
        τ of ``margin="l1"``, which is added to the diagonal of G; other margins refuse it. None means 0.
    trace
        c, the trace of K over all points. None means n: a mean diagonal of 1, to which `C` is relative.
    center
        Centre every kernel over all points. The machine does not depend on the origin of the feature space; with centring
        the trace does not either, and measures spread.
    tol
        Stop when the relative gap between the bounds of the optimum is at most this.

    Attributes
    ----------
    weights_, shares_ : ndarray of shape (n_kernels,)
        μ of the kernels as given (centred if asked for), and their shares in the trace of K, which sum to one.
    kernel_ : ndarray of shape (n_samples, n_samples)
        K.
    objective_, gap_ : float
        ω(K), and its relative distance from the proven lower bound of the optimum. If unrestricted combinations were left
        out (``certificate_.rank`` is less than the number of kernels), the bound is that of the optimum over the others.
    certificate_ : MarginSolution
        Both bounds, with α (one row per machine if there are several) and the multiplier of K ⪰ 0 that prove them; steps
        and status. If `rank` is less than the number of kernels, they bound the optimum over these directions only;
        `left_out` is the size of the largest combination outside them, 0 for kernels that are linearly dependent.
    transduction_ : ndarray of shape (n_samples,)
        The labels, given or predicted.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    svm_, labelled_ : sklearn.svm.SVC or sklearn.multiclass.OneVsRestClassifier, ndarray of int
        The machine on the labelled block of K, or the machines of all classes; and the rows of that block. Model files do
        not store the machine; predictions need only `dual_coef_` and `intercept_`.
    dual_coef_, intercept_ : ndarray of shape (n_machines, n_labelled), ndarray of shape (n_machines,)
        Decision values of rows k of the kernel are ``k @ dual_coef_.T + intercept_``.
    n_iter_ : int
        Number of iterations.
    diagnostics_ : dict
        Seconds per stage and other facts of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from eigenspan import Kernel, KernelLearner
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    >>> fitted = KernelLearner(["linear", Kernel("poly", degree=2), "rbf"]).fit(scale(X), some)
    >>> bool(fitted.gap_ < 1e-6), bool(np.mean(fitted.transduction_ == y) > 0.9)
    (True, True)

    References
    ----------
    Lanckriet, Cristianini, Bartlett, El Ghaoui & Jordan (2004), Learning the kernel matrix with semidefinite programming.
    """

    kernels: Any = parameter(default=("linear", "rbf"), kw_only=False)
    weights: Literal["nonnegative", "unrestricted"] = "nonnegative"
    margin: Literal["hard", "l1", "l2"] = "l1"
    C: Positive = 1.0
    tau: Positive | None = None
    trace: Positive | None = None
    center: bool = True
    unlabeled: Marker = -1
    tol: Tolerance = 1e-6
    max_iter: Count = 100

    weights_: Array = attribute()
    shares_: Array = attribute()
    kernel_: Array = attribute()
    objective_: float = attribute()
    gap_: float = attribute()
    certificate_: MarginSolution = attribute()
    transduction_: NDArray[Any] = attribute()
    classes_: NDArray[Any] = attribute()
    svm_: Any = attribute()
    labelled_: Index = attribute()
    dual_coef_: Array = attribute()
    intercept_: Array = attribute()
    n_iter_: int = attribute()
    diagnostics_: dict[str, Any] = attribute()

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: VectorLike) -> Self:
        """Learn the kernel from all points X, and label those whose y is −1, NaN or None; the others belong to two classes or more."""
        with memory_errors(self, X), all_or_nothing(self):
            self._fit(X, y)
        return self

    def _fit(self, X: TableLike, y: VectorLike) -> None:
        _check_kernels(self.kernels)
        self._refuse_sizes()
        X = as_rows(checked_rows(self, X, sparse=True, dtype=np.float64, least=2))
        refuse_out_of_range(X)
        read = read_classes(y, X.shape[0], unlabeled=self.unlabeled, name="KernelLearner")
        codes, self.classes_ = read.codes, read.names
        self.labelled_ = np.flatnonzero(codes >= 0)
        with collect() as self.diagnostics_:
            grams, means, traces = self._grams(X)
            self._learn(grams, _against(codes[self.labelled_], self.classes_.size))
            self.weights_ = self.shares_ / traces
            self._offset = self.weights_ @ means[:, self.labelled_]
            self._train(codes)

    def _refuse_sizes(self) -> None:
        if self.tau is not None and self.margin != "l1":
            raise InputError(
                f'tau={self.tau:g} belongs to margin="l1", but margin={self.margin!r}. Use margin="l1" with tau=, or margin="l2" with C=, '
                "where τ is 1/C."
            )
        for name, value in (("C", self.C), ("tau", self.tau), ("trace", self.trace)):
            if value is not None and not 1 / _MOST <= value <= _MOST:
                raise InputError(
                    f"{name}={value:.3g} must lie between {1 / _MOST:g} and {_MOST:g}, because the result would be only rounding error."
                )

    def _grams(self, X: Matrix) -> tuple[Array, Array, Array]:
        """Return kernel matrices scaled to the trace c, their column means before centring, and their traces over c."""
        n, m = X.shape[0], len(self.kernels)
        copies = m * (1 if self.weights == "nonnegative" else 4) + 4
        require(8.0 * n * n * copies, f"{copies} matrices of {n}×{n}", "Use fewer kernels or unlabelled points.")
        grams, means, traces = np.empty((m, n, n)), np.zeros((m, n)), np.empty(m)
        self._parts = []
        for i, kernel in enumerate(self.kernels):
            try:
                part, K = _gram(kernel, X)
                rounding = 1e-13 * n * float(np.abs(K).max())
                if self.center:
                    means[i] = K.mean(axis=0)
                    K -= means[i] + means[i][:, None] - means[i].mean()
                traces[i] = _checked_trace(K, rounding) / (n if self.trace is None else self.trace)
            except KernelError as refusal:
                raise KernelError(f"kernels[{i}] ({_name(kernel)}): {refusal}") from refusal
            self._parts.append(part.among(self.labelled_))
            np.divide(K, traces[i], out=grams[i])
        return grams, means, traces

    def _learn(self, grams: Array, y: Array) -> None:
        box = self.C if self.margin == "l1" else np.inf
        self._tau = 1.0 / self.C if self.margin == "l2" else self.tau or 0.0
        rule: dict[str, Any] = {"signs": self.weights, "tol": self.tol, "max_iter": self.max_iter}
        with stage("weights"):
            found = learn_weights(grams, self.labelled_, y, box=box, tau=self._tau, **rule)
        _judge(found, self.tol)
        self.certificate_, self.shares_, self.n_iter_ = found, found.weights, found.n_iter
        self.objective_, self.gap_ = found.upper, found.gap
        self.kernel_ = np.tensordot(found.weights, grams, axes=1)
        note(status=found.status, kernels_used=int(np.count_nonzero(found.weights)), rank=found.rank)
        if self.weights == "unrestricted":
            lowest, highest = (float(dense.eigenpairs(self.kernel_, 1, sense)[0][0]) for sense in ("min", "max"))
            note(smallest_eigenvalue=lowest)
            if lowest < -1e-6 * highest:
                warn(
                    f"The learned kernel has eigenvalues from {lowest:.2g} to {highest:.2g}, because the kernels are nearly "
                    "linearly dependent "
                    'and rounding dominates. Use fewer kernels, or weights="nonnegative".',
                    IndefiniteWarning,
                )

    def _train(self, codes: NDArray[np.intp]) -> None:
        rows, rest = self.labelled_, np.flatnonzero(codes < 0)
        K = self.kernel_[np.ix_(rows, rows)] + self._tau * np.eye(rows.size)
        # a C above the largest α of the optimum has no effect, which gives the hard margin
        C = self.C if self.margin == "l1" else 10.0 * float(self.certificate_.alpha.max())
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import SVC

        svm: Any = SVC(C=C, kernel="precomputed", tol=1e-5, random_state=0)
        svm = svm if self.classes_.size == 2 else OneVsRestClassifier(svm)
        self.svm_ = svm.fit(K, self.classes_[codes[rows]])
        self.dual_coef_, self.intercept_ = _decision(self.svm_, rows.size)
        self.transduction_ = self.classes_[np.maximum(codes, 0)]
        if rest.size:
            self.transduction_[rest] = self._classes_of(self._values(self.kernel_[np.ix_(rest, rows)]))

    def _values(self, K: Array) -> Array:
        values = K @ self.dual_coef_.T + self.intercept_
        return values[:, 0] if self.classes_.size == 2 else values

    def _classes_of(self, values: Array) -> Labels:
        return self.classes_[(values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)]

    def decision_function(self, X: TableLike, rows: Sequence[ArrayLike] | None = None) -> Array:
        """Return signed distances of new points from the separating plane, in units of the margin; positive for ``classes_[1]``.

        For more than two classes there is one column per class, positive for that class.

        For each matrix among `kernels`, in order, `rows` has the (n_points, n_samples) kernel between new and training points.
        """
        check_is_fitted(self)
        X = as_rows(checked_rows(self, X, sparse=True, dtype=np.float64, reset=False))
        matrices = [i for i, kernel in enumerate(self.kernels) if _is_matrix(kernel)]
        rows = [] if rows is None else rows
        if len(rows) > len(matrices):
            raise InputError(
                f"rows= has {len(rows)} arrays, but only {len(matrices)} of the kernels are matrices of the training points; "
                "the others are "
                "computed from X. Pass one array for each matrix, in order."
            )
        given = dict(zip(matrices, rows, strict=False))
        K = np.zeros((X.shape[0], self.labelled_.size)) - self._offset  # the row means cancel because Σ α_j y_j = 0
        for i in np.flatnonzero(self.weights_):
            values = np.asarray(given.get(int(i)), dtype=np.float64) if i in matrices else X
            if i in matrices and values.shape != (X.shape[0], self.kernel_.shape[0]):
                raise InputError(
                    f"kernels[{i}] is a matrix of the training points and cannot be computed for new ones. Pass rows=[...] "
                    "with, for each matrix, the "
                    f"{X.shape[0]}×{self.kernel_.shape[0]} kernel between new and training points (got shape {values.shape}). "
                    "The labels of the training points are in transduction_."
                )
            if i in matrices and not np.all(np.isfinite(values)):
                raise InputError(
                    f"The rows= of kernels[{i}] hold {int(np.sum(~np.isfinite(values)))} values that are NaN or infinite, of "
                    f"{values.size}. Pass finite kernel values only."
                )
            K += self.weights_[i] * self._parts[i](values)
        return self._values(K)

    def predict(self, X: TableLike, rows: Sequence[ArrayLike] | None = None) -> Labels:
        """Return the classes of new points; parameters as for `decision_function`."""
        return self._classes_of(self.decision_function(X, rows))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kernels = self.kernels if isinstance(self.kernels, (list, tuple)) else ()
        tags.input_tags.pairwise = any(map(is_precomputed, kernels))
        return tags


def _against(codes: NDArray[np.intp], count: int) -> Array:
    """Return ±1 labels: the second of two classes against the first, or one row per class against the rest."""
    return np.where(codes > 0, 1.0, -1.0) if count == 2 else np.where(codes == np.arange(count)[:, None], 1.0, -1.0)


def _decision(svm: SVC | OneVsRestClassifier, n: int) -> tuple[Array, Array]:
    """Return coefficients over all n training rows, one row per machine, and intercepts."""
    machines = getattr(svm, "estimators_", [svm])
    coef = np.zeros((len(machines), n))
    for row, machine in zip(coef, machines, strict=True):
        row[machine.support_] = machine.dual_coef_[0]
    return coef, np.array([machine.intercept_[0] for machine in machines])


def _is_matrix(kernel: KernelLike) -> bool:
    return hasattr(kernel, "shape") or isinstance(kernel, list)


def _name(kernel: KernelLike) -> str:
    """Return the name of a kernel for messages."""
    if _is_matrix(kernel):
        return "matrix"
    return kernel if isinstance(kernel, str) else getattr(kernel, "name", getattr(kernel, "__name__", repr(kernel)))


def _check_kernels(kernels: Sequence[KernelLike]) -> None:
    """Raise an error unless `kernels` is a list of kernels that apply to one X."""
    if isinstance(kernels, str | type) or not hasattr(kernels, "__len__") or not len(kernels):
        raise InputError(f"kernels={kernels!r} must be a list of at least one kernel, such as ['linear', 'rbf'].")
    shape = getattr(kernels, "shape", ())
    if len(shape) == 2:
        raise InputError(f"kernels is one matrix, of shape {shape}, not a list of kernels. Pass kernels=[K].")
    names = [_name(kernel) for kernel in kernels]
    given = [is_precomputed(kernel) for kernel in kernels]
    if any(given) and not all(given[i] or _is_matrix(kernel) for i, kernel in enumerate(kernels)):
        raise KernelError(
            f"kernels={names} mixes 'precomputed', for which X is a kernel matrix, with kernels of points. Pass the matrix "
            "itself as one of the "
            "kernels, and points as X."
        )


def _gram(kernel: KernelLike, X: Matrix) -> tuple[KernelRows, Array]:
    """Return the function of new points for a kernel, and the kernel matrix of the points X."""
    if not _is_matrix(kernel):
        part = kernel_rows(kernel, KernelValues(X) if is_precomputed(kernel) else X)
        return part, gram_matrix(part, X)
    K, part = real_numbers(kernel, "Kernel values", KernelError), KernelRows(None, {}, None)
    if K.shape != (X.shape[0], X.shape[0]):
        raise KernelError(
            f"The matrix has shape {K.shape}; X has {X.shape[0]} points, labelled and unlabelled together."
        )
    return part, gram_matrix(part, K)


def _checked_trace(K: Array, rounding: float) -> float:
    """Return the trace of a kernel matrix; raise KernelError if it is zero or not positive semidefinite."""
    trace, size = float(np.trace(K)), float(np.abs(K).sum(axis=0).max())
    if size <= rounding:
        raise KernelError(
            f"The matrix has trace {trace:.3g} (after centring, if `center`), so all points coincide in its feature space. "
            "Leave this kernel out."
        )
    if la.lapack.dpotrf(K + _PSD * size * np.eye(len(K)), overwrite_a=1)[1]:
        lowest = float(dense.eigenpairs(K, 1)[0][0])
        if lowest < -_PSD * size:
            raise KernelError(
                f"The matrix is not positive semidefinite: its smallest eigenvalue is {lowest:.3g}, its trace {trace:.3g}. The margin "
                "is then undefined. Use another kernel, or remove its negative eigenvalues by nearest_psd."
            )
    return trace


def _judge(found: MarginSolution, tol: float) -> None:
    """Raise InputError if no hard margin exists; warn of kernels that were left out and of a remaining gap."""
    if not np.isfinite(found.upper):
        raise InputError(
            "No combination of these kernels separates the labelled points: the hard margin's objective is unbounded (at least "
            f'{found.lower:.2g}). Use margin="l1" or "l2", or add a kernel of full rank such as "rbf"; coincident points with different '
            "labels cannot be separated at all."
        )
    if found.left_out:
        warn(
            f"Combinations of the {found.weights.size} kernels that nearly cancel (to at most {found.left_out:.1g} of their "
            "size) were left out. "
            f"The bounds hold for the other {found.rank} directions; large weights of both signs might reach a larger margin. Leave out "
            'kernels that are nearly linearly dependent, or use weights="nonnegative".',
            ConvergenceWarning,
        )
    if found.gap > tol:
        warn(
            f"The weights are optimal up to a relative gap of {found.gap:.2g}, not {tol:.2g}, after {found.n_iter} steps "
            f"({found.status}). Raise max_iter or tol, or leave out kernels that are nearly linearly dependent.",
            ConvergenceWarning,
        )
