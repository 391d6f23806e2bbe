"""Count the functions and files that a fit passes through, for `benchmarks.house`.

Each run is repeated, and the second run is traced with ``sys.setprofile`` on one thread. A function is identified by its file and qualified
name. Lambdas are counted; comprehensions and generator expressions belong to the function that contains them. Modules that only check
parameters, limit threads or record times are left out (`PLUMBING`, `ANCHOR_PLUMBING`). A switch of file is a counted call whose preceding
counted call was to a function of another file: a reader who follows the fit in the order of execution has to change files there.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import sklearn
from sklearn.cross_decomposition import CCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import SpectralEmbedding
from threadpoolctl import threadpool_limits

import eigenspan as es

from .house_source import PLUMBING, ROOT, level_of

ANCHORS = Path(sklearn.__file__).parent
#: Modules of scikit-learn that check parameters and arrays, as `PLUMBING` does here.
ANCHOR_PLUMBING = ("utils", "externals", "_config.py", "base.py")
#: Code that belongs to the function around it.
INNER = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
ROWS, COLUMNS, CLASSES, BLOCKS = 300, 6, 3, 3


@dataclass(frozen=True)
class Steps:
    """Distinct functions, distinct files, and switches between files of one run."""

    functions: int
    files: int
    switches: int

    def __str__(self) -> str:
        return f"{self.functions} / {self.files} / {self.switches}"


def calls_of(run: Callable[[], Any]) -> list[tuple[CodeType, list[CodeType]]]:
    """Code objects of all Python calls of the second of two runs, in order, each with those of its callers, innermost first."""
    found: list[tuple[CodeType, list[CodeType]]] = []

    def trace(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            callers, outer = [], frame.f_back
            while outer is not None:
                callers.append(outer.f_code)
                outer = outer.f_back
            found.append((frame.f_code, callers))

    with warnings.catch_warnings(action="ignore"), threadpool_limits(1), _one_process():
        run()
        sys.setprofile(trace)
        try:
            run()
        finally:
            sys.setprofile(None)
    return found


@contextmanager
def _one_process() -> Iterator[None]:
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def _is_own(code: CodeType) -> bool:
    path = Path(code.co_filename)
    return path.is_relative_to(ROOT) and not PLUMBING.fullmatch(path.relative_to(ROOT).as_posix())


def _is_anchor(code: CodeType) -> bool:
    path = Path(code.co_filename)
    return path.is_relative_to(ANCHORS) and path.relative_to(ANCHORS).parts[0] not in ANCHOR_PLUMBING


def steps(run: Callable[[], Any], counts: Callable[[CodeType], bool] = _is_own) -> Steps:
    """Steps of a run through the functions for which `counts` is true."""
    taken = [code for code, _ in calls_of(run) if code.co_name not in INNER and counts(code)]
    switches = sum(a.co_filename != b.co_filename for a, b in pairwise(taken))
    functions = {(code.co_filename, code.co_qualname) for code in taken}
    return Steps(len(functions), len({code.co_filename for code in taken}), switches)


def upward(run: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """Upward calls: those of a function whose innermost caller in the library lies in a lower room. Keys are (caller, called)."""
    found: Counter[tuple[str, str]] = Counter()
    for code, callers in calls_of(run):
        caller = next((each for each in callers if Path(each.co_filename).is_relative_to(ROOT)), None)
        own = caller is not None and Path(code.co_filename).is_relative_to(ROOT)
        if own and level_of(caller.co_filename) < level_of(code.co_filename):
            found[caller.co_qualname, code.co_qualname] += 1
    return found


def lpp() -> Any:
    """A run of LPP, fit and transform, for `upward`."""
    X = np.random.default_rng(1).standard_normal((ROWS, COLUMNS))
    return lambda: es.LPP(2).fit(X).transform(X)


def runs(folder: Path) -> dict[str, tuple[Callable[[], Any], Callable[[CodeType], bool]]]:
    """The measured runs by name, each with the predicate for the functions to count."""
    import dask.array as da

    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((ROWS, COLUMNS)), np.arange(ROWS) % CLASSES
    Y = X[:, :2] + rng.standard_normal((ROWS, 2))
    np.save(folder / "rows.npy", X)
    M = np.load(folder / "rows.npy", mmap_mode="r")
    D, d = (da.from_array(part, chunks=(ROWS // BLOCKS, *part.shape[1:])) for part in (X, Y[:, 0]))
    return {
        "LPP": (lpp(), _is_own),
        "LaplacianEigenmaps": (lambda: es.LaplacianEigenmaps(2).fit(X).transform(X), _is_own),
        "LDA from a memmap": (lambda: es.LDA(2).fit(M, y).transform(M), _is_own),
        "CCA": (lambda: es.CCA(2).fit(X, Y).transform(X), _is_own),
        "SIR on Dask (fit)": (lambda: es.SIR(2).fit(D, d), _is_own),
        "scikit-learn's SpectralEmbedding": (lambda: SpectralEmbedding(2).fit_transform(X), _is_anchor),
        "scikit-learn's LDA": (lambda: LinearDiscriminantAnalysis(n_components=2).fit(X, y).transform(X), _is_anchor),
        "scikit-learn's CCA": (lambda: CCA(2).fit(X, Y).transform(X), _is_anchor),
    }


def all_steps() -> dict[str, Steps]:
    """Steps of every run."""
    with tempfile.TemporaryDirectory() as folder:
        return {name: steps(run, counts) for name, (run, counts) in runs(Path(folder)).items()}
