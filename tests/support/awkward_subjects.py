"""Every public estimator, and the configurations of each that treat input differently, for tests with invalid or unusual input."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

import eigenspan as es
import helpers
from eigenspan.errors import EigenspanError
from eigenspan.methods.registry import TABLE
from helpers import raised_in

N, D = 40, 6


def rolled(n: int = N, d: int = D, seed: int = 0) -> tuple[Any, Any]:
    """Return a swiss roll and three classes along it."""
    rng = np.random.default_rng(seed)
    t, h = rng.uniform(4, 10, n), rng.uniform(0, 8, n)
    X = np.column_stack([t * np.cos(t), t * np.sin(t), h, 0.3 * rng.standard_normal((n, max(1, d - 3)))])
    return np.ascontiguousarray(X[:, :d]), np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))


X, CODES = rolled()
NEW = X[:5] * 1.02 + 0.01


@dataclass(frozen=True)
class Subject:
    """An unfitted estimator and the kind of its labels."""

    name: str
    make: Callable[..., Any]
    labels: str = "none"
    transforms: bool = True

    @cached_property
    def parameters(self) -> frozenset[str]:
        return frozenset(self.make().get_params(deep=False))

    def y(self, codes: Any = CODES) -> Any:
        """Return y of the right kind for points of these classes."""
        codes, n = np.asarray(codes), len(codes)
        if self.labels == "coordinates":
            known = np.random.default_rng(5).standard_normal((n, 2))
            return np.where(np.arange(n)[:, None] % 2 == 0, known, np.nan)
        if self.labels == "two":
            return np.where(np.arange(n) % 4 == 1, -1, codes > 0)
        if self.labels == "some labels":
            return np.where(np.arange(n) % 3 == 1, -1, codes)
        return None if self.labels in ("none", "optional") else codes

    def fit(self, X: Any = X, y: Any = None, **params: Any) -> Any:
        return quietly(lambda: self.make(**params).fit(X, self.y() if y is None else y))

    def place(self, fitted: Any, X: Any) -> Any:
        """Return the output of the estimator for points."""
        return quietly(lambda: np.asarray(fitted.transform(X) if self.transforms else fitted.predict(X)))


def quietly(run: Callable[[], Any]) -> Any:
    """Run without warnings, which such input may cause."""
    return helpers.quietly(run, Warning)


def _anchored(embedding: Any, form: str) -> Callable[..., Any]:
    def make(**params: Any) -> Any:
        inner = {name: params.pop(name) for name in list(params) if name not in ("form", "beta", "embedding")}
        return es.Anchored(**{"embedding": embedding(2, **inner), "form": form, **params})

    return make


def _with(cls: Any, **fixed: Any) -> Callable[..., Any]:
    return lambda **params: cls(**{**fixed, **params})


def subjects() -> dict[str, Subject]:
    found = []
    table = es.methods().loc[[row.name for row in TABLE]]
    for name, row in table.iterrows():
        if row["family"] == "external":
            continue
        fixed: dict[str, Any] = {"n_clusters": 3} if name == "SpectralClustering" else {}
        if row["family"] == "unfolding":
            fixed = {"tol": 0.1}
        found.append(
            Subject(name, lambda _name=name, _fixed=fixed, **p: es.make(_name, **{**_fixed, **p}), row["supervision"])
        )
    rbf = es.Kernel("rbf", gamma="median")
    for cls, labels in (
        (es.LPP, "none"), (es.OLPP, "none"), (es.NPP, "none"), (es.LLTSA, "none"), (es.LDA, "labels"), (es.LFDA, "labels"),
        (es.SupervisedPCA, "labels"), (es.SSMMC, "some labels"), (es.SDA, "some labels"), (es.SODA, "some labels"),
    ):  # fmt: skip
        found.append(Subject(f"{cls.__name__}-kernel", _with(cls, kernel=rbf), labels))
    found += [
        Subject("LPP-class", _with(es.LPP, graph="class"), "labels"),
        Subject("NPP-within", _with(es.NPP, graph=es.KNN(5, within_class=True)), "labels"),
        Subject("LPP-landmarks", _with(es.LPP, kernel=rbf, landmarks=15)),
        Subject("KernelPCA-landmarks", _with(es.KernelPCA, landmarks=15)),
        Subject("KernelPCA-preimage", _with(es.KernelPCA, preimage="ridge")),
        Subject("LLE-landmarks", _with(es.LLE, landmarks=25)),
        Subject("LaplacianEigenmaps-landmarks", _with(es.LaplacianEigenmaps, landmarks=25)),
        Subject("Isomap-landmarks", _with(es.Isomap, landmarks=25)),
        Subject("ClassicalMDS-cailliez", _with(es.ClassicalMDS, metric="cityblock", correction="cailliez")),
        Subject("Isomap-conformal", _with(es.Isomap, conformal=True)),
        Subject("LaplacianEigenmaps-harmonic", _with(es.LaplacianEigenmaps, extension="harmonic", weights="local")),
        Subject("PDDP", _with(es.PDDP, n_clusters=3)),
        Subject("SpectralClustering-margin", _with(es.SpectralClustering, n_clusters=3, assign="margin")),
        Subject("EigenmapClassifier", _with(es.EigenmapClassifier, n_components=2), "some labels"),
        Subject("SpectralClustering-ratio", _with(es.SpectralClustering, n_clusters=3, cut="ratio")),
        Subject("LDA-trace-ratio", _with(es.LDA, n_components=2, criterion="trace-ratio"), "labels"),
        Subject("LDA-shrinkage", _with(es.LDA, shrinkage="auto"), "labels"),
        Subject("SDA-path", _with(es.SDA, weights="path"), "some labels"),
        Subject("PCA-whiten", _with(es.PCA, whiten=True)),
        Subject("TraceReducer", _with(es.TraceReducer)),
        Subject("TraceReducer-kernel", _with(es.TraceReducer, basis="kernel", kernel=rbf)),
        Subject("TraceReducer-samples", _with(es.TraceReducer, basis="samples", minimise="reconstruction")),
        Subject("TraceReducer-class", _with(es.TraceReducer, minimise="class_laplacian", unit="total"), "labels"),
        Subject("Anchored-LTSA", _anchored(es.LTSA, "exact"), "coordinates"),
        Subject("Anchored-noisy", _anchored(es.LaplacianEigenmaps, "noisy"), "coordinates"),
        Subject("Anchored-spectral", _anchored(es.Isomap, "spectral"), "coordinates"),
        Subject("External", lambda **p: es.External(**{"estimator": FactorAnalysis(p.pop("n_components", 2)), **p})),
        Subject("KernelLearner", _with(es.KernelLearner), "two", transforms=False),
        Subject(
            "LabelledOnly", _with(es.LabelledOnly, estimator=KNeighborsClassifier(1)), "some labels", transforms=False
        ),
        Subject(
            "RegularizedSearch",
            _with(es.RegularizedSearch, estimator=es.SSLFDA(2), param_grid={"gamma": [0.1, 1.0]}, cv=3),
            "some labels",
        ),
    ]
    return {subject.name: subject for subject in found}


SUBJECTS = subjects()


# ---------------------------------------------------------------------- judging
def on_purpose(error: BaseException) -> bool:
    """Return True if the error is a deliberate one of this library or of scikit-learn's validation, with a message."""
    if not str(error):
        return False
    if isinstance(error, EigenspanError | NotFittedError):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    if not isinstance(error, ValueError | TypeError | AttributeError):
        return False
    last = frames[-1].filename
    raised = (frames[-1].line or "").startswith("raise") and (
        raised_in(last) or any(raised_in(last, sklearn, part) for part in ("utils", "base.py", "exceptions.py"))
    )
    ours = [i for i, frame in enumerate(frames) if raised_in(frame.filename)]
    checked = any(
        raised_in(frame.filename, sklearn, "utils", "validation.py") for frame in frames[(ours[-1] if ours else 0) :]
    )
    return raised or (checked and isinstance(error, ValueError | TypeError))


def told(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:150]} ({Path(last.filename).name}:{last.lineno})"


def sound(subject: Subject, fitted: Any, n: int, X: Any = None) -> str:
    """Return the error in the output of a fit to n points; "" if it is complete and finite."""
    if not subject.transforms:
        return "" if X is None or len(subject.place(fitted, X)) == n else "predictions are missing"
    Y = getattr(getattr(fitted, "best_estimator_", fitted), "embedding_", None)
    outputs = [] if Y is None else [("embedding_", np.asarray(Y))]
    if X is not None:
        outputs.append(("transform(X)", subject.place(fitted, X)))
    width = fitted.get_params(deep=False).get("n_components")
    for name, Z in outputs:
        if Z.ndim != 2 or Z.shape[0] != n:
            return f"{name} has shape {Z.shape} for {n} points"
        if isinstance(width, int) and Z.shape[1] != width:
            return f"{name} has {Z.shape[1]} columns for n_components={width}"
        if not np.all(np.isfinite(Z)):
            return f"{name} has {np.sum(~np.isfinite(Z))} numbers that are not finite"
    return ""


def outcome(run: Callable[[], str], refuse: bool = False) -> str:
    """Return a description of an unintended error, or of the failure that `run` reports; with `refuse`, a fit must raise."""
    try:
        found = quietly(run)
    except Exception as error:
        return "" if on_purpose(error) else told(error)
    return found or ("accepted without a word" if refuse else "")
