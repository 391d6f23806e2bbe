"""The methods by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from sklearn.decomposition import FactorAnalysis, FastICA
from sklearn.manifold import MDS, TSNE
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from .._compat import NONMETRIC
from .._parameters import bound
from ..errors import InputError
from . import (  # noqa: F401 -- importing a family adds its methods to ROWS
    alignment,
    discriminant,
    distances,
    laplacian,
    reconstruction,
    semi_supervised,
    sufficient,
    trace_reducer,
    two_views,
    unfolding,
    variance,
)
from .base.table import BESIDES, FAMILIES, ROWS, Method, spoken
from .external.wrappers import External


def _external(cls: type, **fixed: object) -> Callable[..., External]:
    """Return a constructor of `External` around the class, with the parameters of both."""
    own = {name: inspect.signature(External).parameters[name] for name in ("n_neighbors", "n_jobs")}
    theirs = {name: p.replace(kind=p.KEYWORD_ONLY) for name, p in inspect.signature(cls).parameters.items()}
    theirs |= {name: theirs[name].replace(default=value) for name, value in fixed.items()}
    first = inspect.Parameter("n_components", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=2)
    signature = inspect.Signature([*(theirs | {"n_components": first} | own).values()])

    def build(*args: Any, **given: Any) -> External:
        values = bound(cls.__name__, signature, args, given).arguments
        return External(**{name: values.pop(name) for name in own}, estimator=cls(**values))

    build.__signature__ = signature  # type: ignore[attr-defined]
    return build


def _theirs(
    name: str,
    title: str,
    phrases: str,
    form: str,
    basis: str,
    supervision: str,
    cost: str,
    build: Callable[..., External],
    *aliases: str,
) -> Method:
    """Return the row of a method of scikit-learn."""
    facts = "external", form, "—", basis, supervision, cost, "scikit-learn"
    return Method(name, *facts, build, aliases, title, spoken({"": phrases}), own=False)


# fmt: off
#: The reducers.
TABLE: tuple[Method, ...] = (
    *ROWS,
    _theirs("FactorAnalysis", "Factor analysis", "common factors; factor loadings",
            "likelihood", "linear", "none", "n D² per step", _external(FactorAnalysis)),
    _theirs("FastICA", "Independent component analysis", "independent components; blind source separation; cocktail party problem",
            "negentropy", "linear", "none", "n D² per step", _external(FastICA, random_state=0), "ica"),
    _theirs("NCA", "Neighbourhood components analysis", "metric learning for nearest neighbours",
            "leave-one-out accuracy", "linear", "labels", "n² D per step", _external(NeighborhoodComponentsAnalysis, random_state=0)),
    _theirs("TSNE", "t-distributed stochastic neighbour embedding", "stochastic neighbour embedding; SNE",
            "Kullback–Leibler", "samples", "none", "n log n per step", _external(TSNE, random_state=0), "t-sne"),
    _theirs("NonmetricMDS", "Non-metric multidimensional scaling", "ordinal MDS; ordinal multidimensional scaling; SMACOF",
            "stress of ranks", "samples", "none", "n² per step", _external(MDS, **NONMETRIC, n_init=1, random_state=0), "nmds"),
)
# fmt: on


def _key(name: str) -> str:
    if not isinstance(name, str):
        raise InputError(f"A method is known by its name, a string such as 'PCA'; got {name!r:.80}.")
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def all_rows() -> tuple[Method, ...]:
    """Return the rows of all methods by family, reducers first. `BESIDES` grows when packages above this one are imported."""
    return tuple(sorted((*TABLE, *BESIDES), key=lambda row: FAMILIES.index(row.family)))


def methods() -> Any:
    """Return the table of methods: title, family, form, unit, basis, supervision, cost and source equation of each.

    Returns
    -------
    pandas.DataFrame
        Indexed by the name that `make` takes.

    Examples
    --------
    >>> import eigenspan
    >>> eigenspan.methods().loc["LPP", "form"]
    'min L'
    """
    import pandas as pd

    rows = [{k: v for k, v in asdict(method).items() if k not in ("build", "phrases", "own")} for method in all_rows()]
    table = pd.DataFrame(rows).set_index("name")
    table.insert(0, "title", table.pop("title"))
    table["aliases"] = [", ".join(aliases) for aliases in table["aliases"]]
    return table


def find(name: str) -> Method:
    """Return the row of a method by name or alias, in upper or lower case, with or without hyphens."""
    by_name = {_key(alias): method for method in all_rows() for alias in (method.name, *method.aliases)}
    method = by_name.get(_key(name))
    if method is None:
        near = difflib.get_close_matches(_key(name), by_name, n=1)
        hint = f" Did you mean {by_name[near[0]].name!r}?" if near else ""
        raise InputError(f"There is no method {name!r}.{hint} eigenspan.methods() lists all {len(all_rows())}.")
    return method


def make(name: str = "", /, *args: Any, **params: Any) -> Any:
    """Return an unfitted estimator by name.

    Parameters
    ----------
    name : str
        A name or alias of `methods`, upper or lower case.
    *args, **params
        Passed to the estimator.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import eigenspan
    >>> eigenspan.make("lpp", 3, n_neighbors=5)
    LPP(n_components=3, n_neighbors=5)
    """
    return find(name).build(*args, **params)
