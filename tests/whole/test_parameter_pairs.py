"""Every accepted value of every parameter, and every pair of such values, fits correctly or is refused on purpose.

Values are the names that a class lists in its ``_parameter_constraints`` and the kinds in `parameter_values`; rows that hold all pairs
of them are found by `covering`, method by method and, for pairs, over each group of methods that share their parameters. The default run
tries all pairs in the small groups, and every tenth single value in the large ones; ``make test-all`` tries all pairs in all groups.
With EIGENSPAN_EVERY_PAIR in the environment every pair is tried with every method, which takes minutes.

What "correctly" means:

- PCA, KernelPCA, ClassicalMDS, LandmarkMDS, Isomap, LandmarkIsomap, LaplacianEigenmaps, DiffusionMap, CommuteTimeEmbedding,
  SpectralClustering, LLE, ModifiedLLE, HessianLLE, LTSA, LPP, OLPP, NPP, ONPP, LLTSA, LDA, LFDA, MFA, DNE, LDE, MMC,
  SupervisedPCA, RoweisDA, SSLFDA, SSDNE, SSMFA, SSFDA, SSMMC, PairCosts, SELFDA, SSDR, SDA, SDACCCP and SODA agree with their dense
  definitions from the points and the parameters alone (`dense_methods`): eigenvalues, subspace, and each axis with its scale
  where it is unique. Of SDACCCP the labels that it found, and of landmarks the rows that were chosen, are taken as they are.
- Where a choice has no definition there (path-based weights, landmarks of a kernel given by their number, ``reg=0``, a metric that depends
  on the axes of a kernel's feature space, a unit that stays singular), LAPACK solves the problem that the estimator says it has solved.
- Unfoldings: the embedding has the spectrum of the whole unfolding, bounds on edges hold, and MVU's variance lies between that of the
  points themselves, which keep all bounds, and what geodesic distances allow.
- TraceReducer, which no table of methods has, is tried with every pair of its forms, units, bases and scales.
- All of them: n finite rows of the right width, and ``transform`` returns the embedding for training points.
"""

from __future__ import annotations

import os
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import sklearn
from sklearn.utils._param_validation import InvalidParameterError

import eigenspan as es
from against import against, against_problem
from covering import Cover
from dense_methods import definition
from eigenspan.errors import EigenspanError, EigenspanWarning, PrecisionWarning
from eigenspan.numerics.paths.csgraph import dijkstra
from helpers import raised_in
from parameter_values import AFFINITIES, ALONE, DEFAULT, ROUTES, N, X, build, groups, template, values_of


def refusal(error: Exception) -> bool:
    """Raised on purpose, by this library or by scikit-learn's validation."""
    if isinstance(error, EigenspanError | InvalidParameterError):
        return bool(str(error))
    last = traceback.extract_tb(error.__traceback__)[-1]
    on_purpose = (last.line or "").startswith("raise") and (
        raised_in(last.filename) or raised_in(last.filename, sklearn)
    )
    return isinstance(error, ValueError) and on_purpose and bool(str(error))


def wrong(estimator: Any, given: Any, y: Any) -> str:
    """What is wrong with a fit; nothing where all is right."""
    Y = np.asarray(estimator.embedding_)
    width = estimator.get_params()["n_components"]
    if Y.shape[0] != N or (isinstance(width, int) and Y.shape[1] != width):
        return f"embedding_ has shape {Y.shape} for {N} points and {width} components"
    if not np.all(np.isfinite(Y)):
        return f"{np.sum(~np.isfinite(Y))} numbers of embedding_ are not finite"
    params = estimator.get_params(deep=False)
    if params.get("landmarks") is not None and params.get("kernel", "") is None:
        return "landmarks= have no effect without a kernel, and nobody is told"
    if params.get("metric_params") and params["metric"] != "minkowski":
        return f"metric_params={params['metric_params']} are not of metric={params['metric']!r}, and nobody is told"
    spread = np.abs(Y - Y.mean(axis=0)).max()
    off = np.abs(np.asarray(estimator.transform(given)) - Y).max() / max(spread, np.finfo(float).tiny)
    if not off < 1e-6:
        return f"transform of the training points differs from embedding_: {off:.1e} of its spread"
    if hasattr(estimator, "embedding_full_"):
        return against_bounds(estimator)
    expected = definition(estimator, X, y, given)
    return against(estimator, expected) if expected is not None else against_problem(estimator)


def against_bounds(estimator: Any) -> str:
    """An unfolding against its own spectrum, the lengths of its edges, and what its variance can be."""
    if isinstance(
        estimator, es.MaximumCovarianceUnfolding
    ):  # of two views: tests/methods/unfolding/test_covariance_unfolding.py
        return ""
    F = estimator.embedding_full_ - estimator.embedding_full_.mean(axis=0)
    spectrum = la.eigvalsh(F.T @ F)[::-1]
    found = np.asarray(estimator.eigenvalues_)
    if np.abs(found - spectrum[: found.size]).max() > 1e-6 * spectrum[0]:
        return f"eigenvalues are not those of the unfolding: {found} for {spectrum[: found.size]}"
    params, tol = estimator.get_params(deep=False), estimator.tol
    plain = params["landmarks"] is None and len(F) == N
    if type(estimator).__name__ != "MVU" or params["constraint"] == "slack" or not plain:
        return ""
    edges = estimator.graph_.undirected().tocoo()
    stretch = la.norm(F[edges.row] - F[edges.col], axis=1) / edges.data
    if stretch.max() > 1 + max(1e-3, 0.05 * tol):  # a band is kept as well as the optimum is known
        return f"edges are stretched {stretch.max():.4f} times"
    longest = dijkstra(estimator.graph_.undirected(), directed=False)
    variance, most = spectrum.sum(), np.sum(longest**2) / (2 * N)
    least = np.sum((X - X.mean(axis=0)) ** 2) if params["graph"] is None and params["metric"] is None else 0.0
    return (
        "" if (1 - tol) * least <= variance <= most * (1 + 1e-3) else f"variance {variance} is not in [{least}, {most}]"
    )


def attempt(row: dict[str, str], names: tuple[str, ...]) -> str:
    """What a fit of this row is: right, refused (or warned of for lost digits, which no comparison would survive), or wrong."""
    estimator, given, y = build(row, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EigenspanWarning)
        warnings.simplefilter("error", PrecisionWarning)
        try:
            return wrong(estimator.fit(given, y), given, y)
        except PrecisionWarning as few_digits:
            return f"refused: {few_digits}"
        except Exception as error:
            if refusal(error):
                return f"refused: {type(error).__name__}: {error}"
            last = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


EVERY = "EIGENSPAN_EVERY_PAIR" in os.environ
_LANDMARKS = [label for label in values_of(("LDA",))["landmarks"] if label != DEFAULT]
_AFFINITIES = [{"weights": "'precomputed'", where: "'precomputed'"} for where in ("graph", "metric")]
#: What is known to be wrong, and why: each has a test of its own, and no row contains its values.
KNOWN: list[tuple[str, dict[str, str]]] = [
    (
        "a band that no points keep is certified, 14 per cent off, where tol is loose",
        {"estimator": "'MVU'", "constraint": "'band'", "metric": "'cityblock'"},
    ),
]


def cover(names: tuple[str, ...], sample: int = 0) -> Cover:
    has = {repr(name): frozenset(template(name).get_params(deep=False)) for name in names}
    found = Cover(
        values_of(names, EVERY),
        has,
        lambda row: attempt(row, names),
        [frozenset(values.items()) for _, values in KNOWN],
        alone=frozenset() if EVERY else ALONE,
        routes=frozenset() if "MVU" in names else ROUTES,
        singles="MVU" not in names or bool(sample),
        sample=sample,
    )
    found.run()
    return found


GROUPS = {name: (name,) for names in groups().values() for name in names} if EVERY else groups()


#: Groups in which all pairs take seconds.
LARGE = [
    "by hand", "kernel, labels", "linear or kernel, labels", "linear or kernel, optional", "linear or kernel, response",
    "linear or kernel, some labels", "linear, none", "linear, response", "samples, none", "unfolding",
]  # fmt: skip


def assert_right(found: Cover) -> None:
    print(f"{found.cases} cases: {found.right} right, {found.refused} refused")
    wrong = [
        f"{', '.join(f'{p}={label}' for p, label in sorted(some))}: {said}" for some, said in found.defects.items()
    ]
    assert not wrong, "\n".join([f"{len(wrong)} combinations are neither right nor refused:", *wrong])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LARGE or EVERY else []) for name in GROUPS]
)
def test_every_pair(name: str) -> None:
    found = cover(GROUPS[name])
    assert_right(found)
    assert found.right > min(20 * len(GROUPS[name]), 0.9 * found.cases)  # methods of few parameters have few pairs


@pytest.mark.parametrize("name", LARGE)
def test_single_values(name: str) -> None:
    """A sample of the pairs of a method and a value, the other parameters at their defaults."""
    found = cover(groups()[name], sample=10)
    assert_right(found)
    assert found.right > 3


def _names_of(values: dict[str, str]) -> str:
    """A method that has these parameters."""
    known = {repr(name): template(name).get_params(deep=False) for names in groups().values() for name in names}
    return values.get("estimator") or next(name for name, has in known.items() if set(values) <= set(has))


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(values, marks=pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True))
        for reason, values in KNOWN
    ],
    ids=lambda values: "-".join(label.strip("'") for label in values.values()),
)
def test_known_defects(values: dict[str, str]) -> None:
    row = {"estimator": _names_of(values), **values}
    said = attempt(row, tuple(name for names in groups().values() for name in names))
    assert not said or said.startswith("refused"), said


def test_metrics_in_a_feature_space_do_not_depend_on_its_axes() -> None:
    """The feature space of the linear kernel is the input space: the same method, or a refusal."""
    try:
        kernel = es.LPP(kernel="linear", metric="cityblock", ridge=0.0).fit(X).embedding_
    except EigenspanError:
        return
    assert la.subspace_angles(kernel, es.LPP(metric="cityblock").fit(X).embedding_).max() < 1e-4


@pytest.mark.parametrize("name", ["LaplacianEigenmaps", "SpectralClustering"])
def test_the_diagonal_of_affinities_has_no_effect_on_laplacians(name: str) -> None:
    W = AFFINITIES + np.eye(N)
    fitted = es.make(name, graph="precomputed", weights="precomputed").fit(W)
    plain = es.make(name, graph="precomputed", weights="precomputed").fit(AFFINITIES)
    assert la.subspace_angles(fitted.embedding_, plain.embedding_).max() < 1e-6
    assert np.abs(fitted.transform(W) - fitted.embedding_).max() < 1e-6 * np.abs(fitted.embedding_).max()
