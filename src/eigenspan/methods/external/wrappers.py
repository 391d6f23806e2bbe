"""Methods of scikit-learn and other libraries with the interface of this library: `embedding_`, a map for new points, diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.manifold import TSNE

from ..._compat import HasMethods
from ..._diagnostics import note, stage
from ..._parameters import Count, accepts, attribute, parameter
from ..._types import Array
from ...data import Input, Sample
from ...data.y_values import refuse_none
from ...errors import ConvergenceError, EigenspanError, InputError
from ...graphs.sample_graph import neighbour_graph
from ...problem import Fitted, Spectrum
from ..base.contract import Reducer
from ..base.graph_embedding import barycentric
from ..base.table import besides, known_as

#: Spread of the columns within which t-SNE's result does not depend on the unit of X.
_SPREAD = (1e-11, 1e12)


@dataclass(frozen=True)
class _AsGiven:
    """Reader of a y that is passed to the other library unchanged."""

    needed: bool
    kind: ClassVar[str] = "none"

    def read(self, y: object, n: int, *, name: str, unlabeled: object) -> None:
        if self.needed:
            refuse_none(y, name)


def _refuse_truth_values(external: External) -> None:
    """Raise for booleans as ``n_components``, which scikit-learn takes for a number."""
    if isinstance(getattr(external.estimator, "n_components", None), bool):
        raise InputError(
            f"n_components={external.estimator.n_components} is a truth value: give the number of components."
        )


def _labels_of(external: External) -> _AsGiven | None:
    """Return the reader of y; None if the estimator does not accept y."""
    tags = getattr(external.estimator, "__sklearn_tags__", None)
    needed = tags is not None and not isinstance(external.estimator, type) and tags().target_tags.required
    # both must accept y: the ``fit_transform`` of scikit-learn's mixin calls ``fit``
    ways = (getattr(external.estimator, name, None) for name in ("fit", "fit_transform"))
    return _AsGiven(needed) if needed or all(accepts(way, None, None) for way in ways if way is not None) else None


@contextmanager
def _explaining(estimator: object, X: Array) -> Iterator[None]:
    """Turn errors of the other library into `InputError`, with the estimator and the shape of X."""
    try:
        yield
    except EigenspanError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as failure:
        raise InputError(
            f"{estimator!r:.200} could not be fitted to {X.shape[0]} rows of {X.shape[1]} columns ({type(failure).__name__}: {failure}). "
            "Change its parameters, or the data, as that says."
        ) from failure


@besides("custom", "that of the estimator", "—", "that of the estimator", "optional", "that of the estimator", "—")
@known_as(
    "Another library's reducer",
    "scikit-learn estimator; estimator of another library; UMAP",
    {"PLSRegression()": "partial least squares; PLS"},
)
class External(Reducer):
    """Another library's reducer under this library's interface.

    An estimator that cannot place new points (t-SNE, non-metric MDS) gets the barycentric extension: new points are rebuilt from
    their neighbours among the training points. y is passed on whenever it is given and the estimator's ``fit`` has a place for it, so
    that ``External(umap.UMAP()).fit(X, y)`` is supervised. Of an estimator of two views, such as `CCA` or scikit-learn's
    PLSRegression, ``fit_transform`` returns the scores of X alone: that is how it can stand before other steps of a pipeline.

    Parameters
    ----------
    estimator : estimator with ``fit_transform``
        The estimator of the other library, unfitted.
    n_neighbors
        Number of neighbours for the extension. None means 10, or all other points if there are fewer. It has no effect on
        an estimator that has a ``transform`` of its own.
    n_jobs
        Maximum number of threads for the extension; None means as many as there are processors. It has no effect on the
        result.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    map_ : callable
        The function behind ``transform``: that of the estimator if it has one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import FactorAnalysis
    >>> from eigenspan import External
    >>> X, _ = load_iris(return_X_y=True)
    >>> External(FactorAnalysis(2)).fit(X).transform(X[:3]).shape
    (3, 2)
    """

    estimator: Annotated[Any, HasMethods("fit_transform")] = parameter(kw_only=False)
    n_neighbors: Count | None = None
    n_jobs: int | None = None

    estimator_: Any = attribute()
    map_: Callable[..., Array] = attribute()  # type: ignore[assignment]

    _input: ClassVar[Input] = Input(y=_labels_of, idle=_refuse_truth_values)

    def _fit(self, sample: Sample) -> Fitted:
        X, estimator = sample.x.values, clone(self.estimator)
        name = type(self.estimator).__name__
        note(solver=f"sklearn.{name}")
        sample.x.refuse_one_place()
        if isinstance(self.estimator, TSNE):
            _refuse_spread(X)
        labels = () if sample.given is None or _labels_of(self) is None else (sample.given,)
        with (
            stage("external fit"),
            _explaining(estimator, X),
            config_context(skip_parameter_validation=False),  # ours says nothing of the estimator's
        ):
            found = estimator.fit_transform(X, *labels)
            # methods of two views, such as PLSRegression, return the scores of both
            Y = np.asarray(found[0] if isinstance(found, tuple) else found, dtype=np.float64)
        if Y.ndim != 2 or Y.shape[1] == 0:
            raise InputError(f"{name} returned an embedding of shape {Y.shape}: ask it for one component at least.")
        if not np.isfinite(Y).all():
            raise ConvergenceError(
                f"{name} returned {np.count_nonzero(~np.isfinite(Y))} numbers that are not finite: scale X first."
            )
        if hasattr(estimator, "transform"):
            return Fitted(Y, _Transform(estimator, Y.shape[1]), {"estimator_": estimator})
        graph = neighbour_graph(sample.x, None, n_neighbors=self.n_neighbors, n_jobs=self.n_jobs)
        map_ = barycentric(graph, sample.x)(Y, Spectrum(np.zeros(0), np.zeros((0, 0)), np.zeros(0)))
        return Fitted(Y, map_, {"estimator_": estimator})


def _refuse_spread(X: Array) -> None:
    """Refuse rows whose squared distances single precision cannot hold: on some of them t-SNE's own tree ends the process."""
    with np.errstate(over="ignore"):
        spread = float(np.ptp(X, axis=0).max())
    if not _SPREAD[0] <= spread <= _SPREAD[1]:
        raise InputError(
            f"The columns of X spread over {spread:.3g} at most. t-SNE squares distances in single precision and is right from "
            f"{_SPREAD[0]:g} to {_SPREAD[1]:g}: multiply X by a constant first, which changes nothing else."
            if np.isfinite(spread)
            else "The columns of X spread so widely that their differences overflow: multiply X by a small constant."
        )


@dataclass(frozen=True, eq=False)
class _Transform:
    """The estimator's own map."""

    estimator: Any
    width: int

    def __call__(self, X: Any) -> Array:
        return np.asarray(self.estimator.transform(X), dtype=np.float64)
