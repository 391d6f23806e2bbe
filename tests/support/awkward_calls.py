"""Calls with invalid or unusual arguments of functions and classes that are not reducers: measures, folds, the registry, wrappers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import eigenspan as es
from awkward_subjects import CODES, SUBJECTS, N, X, outcome
from eigenspan import quality

Y = X[:, :2] + 0.1
SOME = SUBJECTS["SSLFDA"].y()
KNOWN_PLACES = SUBJECTS["Anchored-LTSA"].y()


def share(run: Callable[[], float]) -> Callable[[], str]:
    """Check that the result is between zero and one, or that the call is refused."""

    def check() -> str:
        value = float(run())
        return "" if -1e-12 <= value <= 1 + 1e-12 else f"the value is {value}"

    return lambda: outcome(check)


def measures() -> Iterator[tuple[str, Callable[[], str]]]:
    holes = np.where(np.eye(N, 6) > 0, np.nan, X)
    pairs = {
        "plain": (X, Y), "nan": (holes, Y), "nan in Y": (X, holes[:, :2]), "inf": (X * np.inf, Y), "lengths": (X, Y[:-1]),
        "empty": (X[:0], Y[:0]), "one": (X[:1], Y[:1]), "two": (X[:2], Y[:2]), "vectors": (X[:, 0], Y[:, 0]),
        "three axes": (X[:, :, None], Y), "words": (np.array([["a"]] * N), Y), "list": (X.tolist(), Y.tolist()),
        "sparse": (sp.csr_array(X), Y), "frame": (pd.DataFrame(X), pd.DataFrame(Y)), "equal": (np.ones((N, 3)), Y),
        "Y equal": (X, np.zeros((N, 2))), "huge": (X * 1e200, Y), "masked": (np.ma.masked_array(X, mask=np.eye(N, 6) > 0), Y),
    }  # fmt: skip
    for name, (A, B) in pairs.items():
        for measure in (quality.trustworthiness, quality.continuity):
            yield f"{measure.__name__} {name}", share(lambda measure=measure, A=A, B=B: measure(A, B, 5))
        yield f"coranking {name}", share(lambda A=A, B=B: quality.coranking(A, B).q_nx.mean())
        yield f"stress {name}", share(lambda A=A, B=B: quality.stress(A, B))
        yield f"nonmetric stress {name}", share(lambda A=A, B=B: quality.stress(A, B, kind="nonmetric"))
        yield f"residual variance {name}", share(lambda A=A, B=B: quality.residual_variance(A, B, distances="direct"))
        yield f"evaluate {name}", share(lambda A=A, B=B: np.isfinite(es.evaluate(A, B, n_neighbors=3).value).mean())
    for k in (0, -1, N // 2, N - 1, N, 1.5, "5", True, None, float("nan")):
        yield f"trustworthiness k={k!r}", share(lambda k=k: quality.trustworthiness(X, Y, k))
    for metric in ("cityblock", "no-such", "precomputed", 3, None):
        yield f"trustworthiness metric={metric!r}", share(lambda m=metric: quality.trustworthiness(X, Y, 5, metric=m))
    words = np.array(list("abc"))[CODES]
    for name, args in {
        "plain": (Y, CODES, Y, CODES), "nan": (holes, CODES, X, CODES), "words": (Y, words, Y, words),
        "short": (Y, CODES[:-1], Y, CODES), "None": (Y, np.where(CODES == 0, None, words.astype(object)), Y, words),
        "widths": (Y, CODES, X, CODES), "empty": (Y, CODES, Y[:0], CODES[:0]), "no training": (Y[:0], CODES[:0], Y, CODES),
        "numbers": (Y, Y[:, 0], Y, Y[:, 0]), "kinds": (Y, CODES, Y, words), "unseen": (Y, CODES, Y, CODES + 5),
    }.items():  # fmt: skip
        yield f"knn_accuracy {name}", share(lambda args=args: quality.knn_accuracy(*args))


def calls() -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield names and checks of the other calls."""

    def put(name: str, run: Callable[[], Any]) -> tuple[str, Callable[[], str]]:
        return name, lambda: outcome(lambda: str(run()) and "")

    for name in ("no-such", "", "PCA ", "t-sne", 3, None, ["PCA"], b"PCA"):
        yield put(f"make {name!r}", lambda name=name: es.make(name))
    yield put("make with an unknown parameter", lambda: es.make("PCA", no_such=1))
    for folds in (1, 0, N + 1, 2.5, "3", None, True):
        yield put(f"folds {folds!r}", lambda folds=folds: list(es.SemiSupervisedKFold(folds).split(X, SOME)))
    for name, y in {"none": None, "short": SOME[:-1], "all missing": np.full(N, -1), "numbers": X[:, 0]}.items():
        yield put(f"folds of {name}", lambda y=y: list(es.SemiSupervisedKFold(3).split(X, y)))
    for name, embedding in {"PCA": es.PCA(2), "MVU": es.MVU(2), "class": es.LTSA, "None": None, "word": "LTSA"}.items():
        yield put(f"anchored {name}", lambda e=embedding: es.Anchored(e).fit(X, KNOWN_PLACES))
    for beta in (1e300, 1e-300, float("inf"), float("nan"), -1.0, "a"):
        yield put(
            f"anchored beta={beta!r}", lambda b=beta: es.Anchored(es.LTSA(2), form="noisy", beta=b).fit(X, KNOWN_PLACES)
        )
    for name, grid in {
        "empty": {},
        "no values": {"gamma": []},
        "unknown": {"no": [1]},
        "number": {"gamma": 1.0},
        "bad": {"gamma": [-1.0]},
    }.items():
        yield put(f"search {name}", lambda grid=grid: es.RegularizedSearch(es.SSLFDA(2), grid, cv=3).fit(X, SOME))
    for cv in (1, 100, "5", None):
        yield put(
            f"search cv={cv!r}", lambda cv=cv: es.RegularizedSearch(es.SSLFDA(2), {"gamma": [0.1]}, cv=cv).fit(X, SOME)
        )
    for name, links in {
        "text": "ab",
        "floats": [[0.5, 1.5]],
        "itself": [[1, 1]],
        "out of range": [[0, 99]],
        "triple": [[0, 1, 2]],
    }.items():
        yield put(f"must_link {name}", lambda links=links: es.SSDR(must_link=links).fit(X, SOME))
    for name, wrapped in {"class": es.PCA, "None": None, "word": "PCA"}.items():
        yield put(f"external {name}", lambda wrapped=wrapped: es.External(wrapped).fit(X))
