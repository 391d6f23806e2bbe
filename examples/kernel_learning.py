"""Does a learned combination of kernels label the unlabelled points better than one kernel, or than their plain average?

    python examples/kernel_learning.py --out folder

Two-class data, a few labelled points drawn at random, eight kernels (linear, quadratic, cubic, five Gaussians). Compared on the
unlabelled points, over the same splits:

- the single kernel that 5-fold cross-validation on the labelled points prefers,
- the single kernel that turns out best over all splits (hindsight: nobody could choose it),
- the average of all kernels, each centred and of the same trace,
- `KernelLearner` with 1-norm and 2-norm soft margins, with weights of one sign and of any.

Every one has its C chosen from 1, 10, 100 by the same cross-validation (for weights of any sign, C is that of weights of one sign).
Breast cancer comes with scikit-learn; ionosphere and BCI are read from the folder EIGENSPAN_DATA and left out, saying so, without it.
Standard errors are over splits of one data set, which overlap: read them as lower bounds of the uncertainty.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from eigenspan import KernelLearner

PRICES = (1.0, 10.0, 100.0)
#: Name -> (file, labelled points).
SETS = {"breast cancer": (None, 40), "ionosphere": ("ionosphere", 60), "BCI": ("ssl_BCI", 100)}
LEARNERS = [(margin, weights) for margin in ("l1", "l2") for weights in ("nonnegative", "unrestricted")]


def load(name: str) -> tuple[Any, Any] | None:
    """Columns of unit variance and classes 0 and 1; None where the data are not there."""
    file = SETS[name][0]
    if file is None:
        X, y = load_breast_cancer(return_X_y=True)
    else:
        path = Path(os.environ.get("EIGENSPAN_DATA", "")) / f"{file}.npz"
        if "EIGENSPAN_DATA" not in os.environ or not path.exists():
            return None
        X, y = (np.load(path)[part] for part in "Xy")
    X = np.asarray(X, dtype=np.float64)
    return scale(X[:, X.std(axis=0) > 0]), np.unique(y, return_inverse=True)[1]


def candidates(X: Any) -> dict[str, Any]:
    """Kernel matrices, centred and of trace n."""
    D, n = X.shape[1], X.shape[0]
    grams = {"linear": pairwise_kernels(X, metric="linear")}
    for name, degree in (("quadratic", 2), ("cubic", 3)):
        grams[name] = pairwise_kernels(X, metric="poly", degree=degree, gamma=1 / D, coef0=1)
    for width in (0.03, 0.1, 0.3, 1.0, 3.0):
        grams[f"Gaussian {width:g}/D"] = pairwise_kernels(X, metric="rbf", gamma=width / D)
    H = np.eye(n) - 1 / n
    centred = {name: H @ K @ H for name, K in grams.items()}
    return {name: (K + K.T) * (n / 2 / np.trace(K)) for name, K in centred.items()}


def machine(K: Any, y: Any, train: Any, test: Any, C: float) -> float:
    fitted = SVC(C=C, kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
    return float(fitted.score(K[np.ix_(test, train)], y[test]))


def learned(grams: list[Any], y: Any, train: Any, test: Any, C: float, **choice: Any) -> tuple[float, Any]:
    """Accuracy on `test` of what is learned from the labels of `train` and all points, and the shares of the kernels."""
    some = np.full(y.size, -1)
    some[train] = y[train]
    fitted = KernelLearner(grams, C=C, **choice).fit(np.arange(y.size)[:, None], some)
    return float(np.mean(fitted.transduction_[test] == y[test])), fitted.shares_


def by_folds(score: Any, train: Any, folds: Any) -> dict[float, float]:
    """Price -> accuracy of ``score(rows, others, C)`` in cross-validation."""
    return {C: float(np.mean([score(train[a], train[b], C) for a, b in folds])) for C in PRICES}


def best(scores: dict[Any, float]) -> Any:
    """The first of the best."""
    return max(scores, key=lambda key: scores[key])


def one_split(grams: dict[str, Any], y: Any, train: Any, test: Any, seed: int) -> tuple[dict[str, float], Any]:
    """Accuracies of all methods on `test`, and the shares that each learner gives the kernels."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(train, y[train]))
    found, validated, shares = {}, {}, {}
    for name, K in {**grams, "average": np.mean(list(grams.values()), axis=0)}.items():
        scores = by_folds(lambda a, b, C, K=K: machine(K, y, a, b, C), train, folds)
        found[name], validated[name] = machine(K, y, train, test, best(scores)), max(scores.values())
    found["cross-validated"] = found[best({name: validated[name] for name in grams})]
    matrices = list(grams.values())
    for margin in ("l1", "l2"):
        scores = by_folds(lambda a, b, C, m=margin: learned(matrices, y, a, b, C, margin=m)[0], train, folds)
        for weights in ("nonnegative", "unrestricted"):
            name = f"{margin} {weights}"
            found[name], shares[name] = learned(matrices, y, train, test, best(scores), margin=margin, weights=weights)
    return found, shares


def compare(name: str, X: Any, y: Any, n_labelled: int, n_splits: int) -> str:
    """The Markdown of one data set."""
    grams = candidates(X)
    splits = StratifiedShuffleSplit(n_splits, train_size=n_labelled, random_state=0).split(X, y)
    runs = [one_split(grams, y, train, test, seed) for seed, (train, test) in enumerate(splits)]
    table = {row: np.array([found[row] for found, _ in runs]) for row in runs[0][0]}
    hindsight = best({row: float(table[row].mean()) for row in grams})
    rows = {
        "single kernel, cross-validated": table["cross-validated"],
        f"single kernel, hindsight ({hindsight})": table[hindsight],
        "average of the kernels": table["average"],
        **{f"learned, {margin}, {weights}": table[f"{margin} {weights}"] for margin, weights in LEARNERS},
    }
    lines = [
        f"## {name}: {X.shape[0]} points, {X.shape[1]} features, {n_labelled} labelled, {n_splits} splits",
        "",
        "| method | accuracy on unlabelled points, % | minus that of the average | minus that of the cross-validated kernel |",
        "|---|---|---|---|",
    ]
    for row, values in rows.items():
        cells = [_with_error(values - table[other], signed=True) for other in ("average", "cross-validated")]
        lines.append(f"| {row} | {_with_error(values)} | {' | '.join(cells)} |")
    lines += ["", "| mean share of the trace | " + " | ".join(grams) + " |", "|---" * (len(grams) + 1) + "|"]
    for margin, weights in LEARNERS:
        mean = np.mean([shares[f"{margin} {weights}"] for _, shares in runs], axis=0)
        lines.append(f"| {margin}, {weights} | " + " | ".join(f"{share:.2f}" for share in mean) + " |")
    return "\n".join(lines) + "\n"


def _with_error(values: Any, signed: bool = False) -> str:
    mean, error = 100 * np.mean(values), 100 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean:{'+' if signed else ''}.2f} ± {error:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for kernel-learning-results.md; printed only, without it")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    arguments = parser.parse_args()
    parts = []
    for name in arguments.sets:
        data = load(name)
        if data is None:
            print(f"{name}: not found (EIGENSPAN_DATA names the folder of the data sets); left out.\n")
            continue
        parts.append(compare(name, *data, SETS[name][1], arguments.splits))
        print(parts[-1], flush=True)
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        text = "# Kernel learning: accuracy of transduction\n\n" + "\n".join(parts)
        (arguments.out / "kernel-learning-results.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
