"""Random compositions: a method, parameters from its declarations, points, labels and a container.

Strings come from the declarations of the classes, numbers from the tables of the parameter tests. Graphs, kernels, weights, metrics and
landmarks are expressions of the points, listed here.
"""

from __future__ import annotations

import ast
import random
from functools import cache

import eigenspan as es
from effect_values import MORE
from parameter_values import VALUES, strings

from .case import ROWS, Case
from .data import GEOMETRIES

#: Estimators of other libraries are not drawn.
METHODS = (*(name for name, row in ROWS.items() if row.own), "TraceReducer")
EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "graph": (
        "es.KNN(4)", "es.KNN(7)", "es.KNN(6, symmetry='mutual')", "es.KNN(6, metric='cityblock')", "es.KNN(6, metric='cosine')",
        "es.KNN(5, within_class=True)", "es.Radius(0.7 * spread(X))", "es.Radius(1.1 * spread(X))", "es.MST(5)",
        "es.KNN(6).build(X)", "neighbour_pairs(X, 6)", "neighbour_distances(X, 6)", "'class'", "'all'", "'precomputed'",
    ),
    "kernel": (
        "es.Kernel('rbf', gamma='median')", "es.Kernel('rbf', gamma=spread(X)**-2)", "'rbf'", "'linear'", "'poly'", "'cosine'",
        "'laplacian'", "'sigmoid'", "'chi2'", "es.Kernel('poly', degree=2)", "es.HeatKernel(1.0)", "es.CommuteTimeKernel()",
        "es.ReconstructionKernel()", "'precomputed'",
    ),
    "weights": (
        "'heat'", "'local'", "'binary'", "'cosine'", "'path'", "'barycentric'", "es.Heat(spread(X))", "es.LocalScaling(4)",
        "es.Powered('local', 2.0)", "es.PathSimilarity(pairs='edges')",
    ),
    "landmarks": (
        "10", "spaced_rows(X, 10)", "spaced_rows(X, 12)", "es.Landmarks(10, choice='kmeans++')",
        "es.Landmarks(10, choice='cholesky')", "es.Landmarks(10, choice='leverage')",
    ),
    "metric": ("'cityblock'", "'cosine'", "'chebyshev'", "'minkowski'", "largest_difference", "'precomputed'"),
    "n_components": ("1", "2", "3"),
    "n_neighbors": ("3", "4", "6", "9", "30"),
    "distortions": ("dimmed",),
    "priors": ("[0.2, 0.3, 0.5]",),
    "reduce": ("2", "3"),
    "random_state": ("5",),
    "solver": ("'dense'", "'lanczos'", "'dense'", "'lanczos'", "'shift-invert'", "'randomised'", "'chebyshev'", "'amg'", "'factor'"),
}  # fmt: skip
#: Not drawn: output, time limits and callbacks; n_jobs, which has its own relation; row numbers, which depend on the order of the rows.
LEFT_OUT = frozenset({
    "verbose", "callback", "time_limit", "n_jobs", "must_link", "cannot_link", "lengths", "metric_params", "embedding", "charts_",
    "label_kernel", "kernels", "n_permutations",
})  # fmt: skip
#: Coarser settings and fewer points for slow methods.
STARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "unfolding": (("tol", "0.2"),),
    "ManifoldKDR": (("tol", "0.05"),),
    "SpectralClustering": (("n_clusters", "3"),),
    "PDDP": (("n_clusters", "3"),),
    "DistortionDiscriminantAnalysis": (("distortions", "dimmed"),),
    "OrientedPCA": (("distortions", "dimmed"),),
}
#: Parameters that select the route of a fit are drawn more often.
ROUTES = (
    "graph",
    "kernel",
    "weights",
    "metric",
    "landmarks",
    "disconnected",
    "solver",
    "extension",
    "reduce",
    "n_neighbors",
)
EMBEDDINGS = ("es.LTSA(2)", "es.LaplacianEigenmaps(2)", "es.LLE(2)", "es.Isomap(2)", "es.LTSA(2, n_neighbors=6)")


@cache
def values_of(method: str, parameter: str) -> tuple[str, ...]:
    """Return the expressions from which a parameter is drawn."""
    if parameter in EXPRESSIONS:
        own = EXPRESSIONS[parameter]
        declared = _declared(method, parameter)
        return declared if parameter == "weights" and declared else own
    numbers = [label for label in (*VALUES.get(parameter, {}), *MORE.get(parameter, {})) if _literal(label)]
    return tuple(dict.fromkeys([*_declared(method, parameter), *numbers]))


def _declared(method: str, parameter: str) -> tuple[str, ...]:
    rules = getattr(getattr(es, method), "_parameter_constraints", {})
    return tuple(repr(word) for word in strings(rules.get(parameter)))


def _literal(label: str) -> bool:
    try:
        ast.literal_eval(label)
    except (SyntaxError, ValueError):
        return False
    return True


# ---------------------------------------------------------------------- one case
def draw(seed: int, index: int, method: str | None = None) -> Case:
    """Return the case with this number; it depends on the seed only, not on earlier draws."""
    rng = random.Random(f"{seed} {index}")
    name = method or METHODS[index % len(METHODS)]
    case = Case(name, _points(rng, name), seed=rng.randrange(10**6))
    params = dict(_parameters(rng, case))
    given = _given(rng, params)
    labels = _labels(rng, case, params)
    container = _container(rng, case, given)
    return Case(name, case.points, labels, tuple(params.items()), given, container, case.seed)


def _points(rng: random.Random, method: str) -> str:
    kind = "counts" if method == "ContingencySDR" and rng.random() < 0.8 else rng.choice(list(GEOMETRIES))
    if kind not in ("gaussian", "swiss_roll") and rng.random() < 0.3:  # plain points a third of the time
        kind = rng.choice(["gaussian", "swiss_roll"])
    slow = method in ROWS and (ROWS[method].family == "unfolding" or method in ("ManifoldKDR", "KDR", "OrdinalIsomap"))
    n = rng.randint(12, 18) if slow else rng.randint(16, 44)
    if rng.random() < 0.06:
        n = rng.randint(2, 7)
    return f"{kind}({n}, {rng.choice([1, 2, 3, 3, 4, 4, 5, 6, 8])}, seed={rng.randrange(1000)})"


def _parameters(rng: random.Random, case: Case) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    if case.method == "Anchored":
        found["embedding"] = rng.choice(EMBEDDINGS)
    if "n_components" in case.has and rng.random() < 0.7:
        widths = EXPRESSIONS["n_components"]
        found["n_components"] = rng.choice(widths[: case.columns] if rng.random() < 0.9 else widths)
    found |= dict(STARTS.get(case.family, ())) | dict(STARTS.get(case.method, ()))
    routes = [name for name in ROUTES if name in case.has]
    others = [name for name in sorted(case.has - LEFT_OUT) if name not in (*ROUTES, *found)]
    drawn = rng.sample(routes, min(len(routes), rng.choice([0, 0, 1, 1, 2, 3])))
    drawn += rng.sample(others, min(len(others), rng.choice([0, 0, 1, 1, 2, 3])))
    for name in drawn:
        values = values_of(case.method, name)
        if values:
            found[name] = rng.choice(values)
    if "landmarks" in found and "kernel" in case.has and rng.random() < 0.9:
        found.setdefault("kernel", "es.Kernel('rbf', gamma='median')")  # landmarks need a kernel
    if "kernel" in found or "graph" in found:
        found.pop("metric", None)
    if "kernel" in found:
        found.pop("reduce", None)
    return list(found.items())


def _given(rng: random.Random, params: dict[str, str]) -> str:
    """Return the argument of fit; affinities if graph and weights may be precomputed."""
    if params.get("kernel") == "'precomputed'":
        return "kernel_values(X)"
    if "'precomputed'" in (params.get("graph"), params.get("metric")):
        if "weights" in params and rng.random() < 0.5:
            params["weights"] = "'precomputed'"
            return "affinities(X, 6)"
        return "distances(X)"
    return "X"


def _labels(rng: random.Random, case: Case, params: dict[str, str]) -> str:
    seed, count = rng.randrange(1000), rng.choice([2, 3, 3])
    if case.method == "KernelLearner":
        return f"some_classes(X, 2, {seed})"
    if case.method == "MultiviewCCA":
        return f"(view(X, {seed}), view(X, {seed + 1}))"
    known = [f"classes(X, {count}, {seed})"] * 4 + [
        f"one_small_class(X, {seed})",
        f"numbers(X, {seed})",
        "one_class(X)",
    ]
    some = [f"some_classes(X, {count}, {seed})"] * 4 + [f"classes(X, {count}, {seed})", f"numbers(X, {seed})"]
    by_class = "class" in params.get("graph", "")
    choices = {
        "none": ["None"],
        "optional": known[:4] if by_class else ["None", "None", known[0]],
        "labels": [*known, some[0]],
        "some labels": [*some, f"some_classes(X, {count}, {seed}, np.nan)", f"one_small_class(X, {seed})"],
        "actions": [f"classes(X, {count}, {seed})"],
        "response": [f"numbers(X, {seed})"] * 3 + [f"classes(X, {count}, {seed})"],
        "numbers": [f"some_numbers(X, {seed})"],
        "coordinates": [f"some_coordinates(X, {seed})"],
        "other view": [f"view(X, {seed})"],
    }
    return rng.choice(choices[case.supervision])


def _container(rng: random.Random, case: Case, given: str) -> str:
    if rng.random() < 0.55:
        return "array"
    return rng.choice(
        ["fortran", "strided", "float32", "csr", "csc", "frame", "polars", "memmap", "list"] + ["dask"] * (given == "X")
    )
