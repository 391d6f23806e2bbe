"""The methods by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import lru_cache
from numbers import Integral
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
    graph_embedding_framework,
    laplacian,
    pursuit,
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
from .finder import Entry, Hit, Hits, Index, key
from .topics import TOPICS


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
    _theirs("NonmetricMDS", "Non-metric multidimensional scaling", "ordinal MDS; Kruskal stress; SMACOF",
            "stress of ranks", "samples", "none", "n² per step", _external(MDS, **NONMETRIC, n_init=1, random_state=0), "nmds"),
)
# fmt: on


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


def row_of(name: str) -> Method:
    """Return the row of a method by name, alias or title, in upper or lower case, with or without hyphens."""
    wanted = key(_text(name))
    for row in all_rows():
        if wanted in map(key, (row.name, *row.aliases, row.title)):
            return row
    first = next(iter(find(name, most=1)), None)
    hint = "" if first is None else f" Did you mean {_named(first)}? eigenspan.find({name!r}) shows similar names."
    raise InputError(f"There is no method {name!r}.{hint} eigenspan.methods() lists all {len(all_rows())}.")


def find(text: str, *, most: int = 5) -> Hits:
    """Search the methods, and what else is public, by name or by what people call it.

    Case, accents, hyphens, plurals and British or American spelling do not matter, and typing errors are allowed.
    Phrases that are the same as the text come first, then those with most of its words. Cost: a few milliseconds.

    Parameters
    ----------
    text : str
        A name, a title or a phrase, such as "normalised cut".
    most : int, default=5
        Largest number of results.

    Returns
    -------
    list of Hit
        The best first; empty if nothing is similar. Each has a ``name``, a ``title``, the ``call`` that the text stands for, and
        ``why`` it was found.

    Examples
    --------
    >>> import eigenspan
    >>> eigenspan.find("normalized cuts", most=1)
    SpectralClustering()  Spectral clustering  known as "normalised cut"
    >>> eigenspan.find("kernel ONPP")[0].call
    "ONPP(kernel='rbf')"
    """
    if isinstance(most, bool) or not isinstance(most, Integral) or most < 1:
        raise InputError(f"most={most!r:.80} must be a whole number of results, 1 or more.")
    return _index(all_rows()).search(_text(text), int(most))


@lru_cache(maxsize=1)
def _index(rows: tuple[Method, ...]) -> Index:
    """Return the index of what `find` searches."""
    return Index(entries(rows))


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise InputError(f"A method is known by its name, a string such as 'PCA'; got {name!r:.80}.")
    return name


def entries(rows: Iterable[Method] | None = None) -> Iterator[Entry]:
    """Yield names, titles and phrases of the rows and of all topics, each with its call."""
    for row in all_rows() if rows is None else rows:
        plain = call_of(row)
        for phrase in (row.title, row.name, *row.aliases):
            yield Entry(phrase, row.name, row.title, plain, plain=True)
        for arguments, phrase in row.phrases:
            call = call_of(row, arguments) if arguments else plain
            yield Entry(phrase, row.name, row.title, call, plain=not arguments)
    for topic in TOPICS:
        yield from topic.entries()


def call_of(row: Method, arguments: str = "") -> str:
    """Return the call that builds a method; without arguments, with the names of those that it must have."""
    given = arguments or ", ".join(
        name for name, each in inspect.signature(row.build).parameters.items() if each.default is each.empty
    )
    return f"{row.name}({given})" if row.own else f"make({', '.join(filter(None, (repr(row.name), given)))})"


def _named(hit: Hit) -> str:
    """Return a result for a message: the name that `make` takes, with the arguments of a variant."""
    row = next((row for row in all_rows() if row.name == hit.name), None)
    if row is None:
        return hit.call
    arguments = hit.call.removeprefix(f"{row.name}(").removesuffix(")")
    return repr(row.name) if hit.call == call_of(row) else f"{row.name!r} with {arguments}"


def make(name: str = "", /, *args: Any, **params: Any) -> Any:
    """Return an unfitted estimator by name.

    Parameters
    ----------
    name : str
        A name, alias or title of `methods`, upper or lower case.
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
    return row_of(name).build(*args, **params)
