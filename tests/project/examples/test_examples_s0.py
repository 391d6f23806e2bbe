"""The reproduction of S0's figures 21 and 22 follows its protocol: splits, graphs, axes and classifier."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from helpers import external_data

s0 = pytest.importorskip("reproduce_s0", reason="examples/ is not part of this distribution")

#: Classes, training samples per class and in all samples: table II and §9.3 of the paper.
PAPER = {"mfeat": (10, 50, 2000), "roweis": (10, 15, 390), "orl": (40, 5, 400), "umist": (20, 10, 575)}


@pytest.fixture(scope="module")
def groups():
    """Return points of four overlapping classes of six points in 20 dimensions, and their classes."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 6)
    return rng.standard_normal((24, 20)) + 0.5 * rng.standard_normal((4, 20))[y], y


@pytest.fixture(scope="module")
def roweis():
    external_data("binaryalphadigs")
    return s0.load("roweis")


def degrees(method, V):
    return np.degrees(subspace_angles(method.components_.T, V)).max()


@pytest.mark.parametrize("name", PAPER)
def test_splits_have_the_papers_sizes(name):
    external_data(s0.TASKS[name].file)
    X, y = s0.load(name)
    classes, per_class, total = PAPER[name]
    train = s0.training_rows(y, s0.TASKS[name].per_class, seed=3)
    assert y.size == total
    assert X.max() == pytest.approx(1 if name in ("mfeat", "roweis") else 255, rel=0.06)
    np.testing.assert_array_equal(np.bincount(y[train]), np.full(classes, per_class))
    assert not np.array_equal(train, s0.training_rows(y, per_class, seed=4))


def test_orthogonal_methods_have_orthonormal_axes_and_the_others_do_not(groups):
    X, y = groups
    for name, method in s0.methods(5, 6).items():
        V = method.fit(X, y).components_
        assert np.allclose(V @ V.T, np.eye(len(V)), atol=1e-10) == (name in s0.ORTHOGONAL), name


def test_olpp_weights_all_pairs_of_a_class_by_the_papers_kernel(groups):
    X, y = groups
    sigma = np.median(pdist(X)) / 2
    W = np.exp(-((squareform(pdist(X)) / sigma) ** 2)) * (y[:, None] == y)
    Z = X - X.mean(axis=0)
    V = eigh(Z.T @ (np.diag(W.sum(axis=1)) - W) @ Z)[1][:, :5]
    assert degrees(s0.methods(5, 6)["OLPP"].fit(X, y), V) < 1e-4


def test_onpp_reconstructs_a_point_from_all_others_of_its_class(groups):
    X, y = groups
    W = np.zeros((24, 24))
    for i in range(24):
        near = np.flatnonzero((y == y[i]) & (np.arange(24) != i))
        G = (X[near] - X[i]) @ (X[near] - X[i]).T
        w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(5), np.ones(5))
        W[i, near] = w / w.sum()
    R = (np.eye(24) - W) @ X
    assert degrees(s0.methods(5, 6)["ONPP"].fit(X, y), eigh(R.T @ R)[1][:, :5]) < 1e-4


def test_errors_equal_those_of_separate_fits_per_dimension(roweis):
    X, y = roweis
    dims = [2, 9, 20]
    train = s0.training_rows(y, 15, seed=1)
    first = PCA(140, svd_solver="full").fit(X[train])
    Z, Z_new = first.transform(X[train]), first.transform(X[~train])
    found = s0.errors_of_split(X, y, 15, dims, seed=1)
    for name, method in s0.methods(20, 15).items():
        for d, error in zip(dims, found[name], strict=True):
            if name == "LDA" and d > 9:
                assert np.isnan(error)
                continue
            axes = clone(method).set_params(n_components=d).fit(Z, y[train])
            nearest = KNeighborsClassifier(1).fit(axes.transform(Z), y[train])
            assert error == pytest.approx(1 - nearest.score(axes.transform(Z_new), y[~train]), abs=1e-12), (name, d)


def test_quick_mode_writes_the_page_and_its_figure(roweis, tmp_path, capsys):
    results = s0.main(["--quick", "--splits", "2", "--data", "roweis", "--jobs", "1", "--out", str(tmp_path)])
    result = results["roweis"]
    assert result.dims == [2, 5, 9, 10, 20, 40, 80]
    assert all(errors.shape == (2, 7) for errors in result.errors.values())
    page = (tmp_path / "reproductions" / "s0.md").read_text(encoding="utf-8")
    columns = list(zip(*(line.split("|")[2:-1] for line in s0.table(result, s0.METHODS).splitlines()[2:]), strict=True))
    for column in (*columns[:-2], columns[-1]):
        errors = [float(cell.strip(" *").split()[0]) for cell in column if "±" in cell]
        bold = [cell for cell in column if "**" in cell]
        assert bold
        assert {float(cell.strip(" *").split()[0]) for cell in bold} == {min(errors)}
    assert s0.table(result, s0.METHODS) in page
    assert s0.table(result, s0.METHODS) in capsys.readouterr().out
    assert "--quick --splits 2 --data roweis" in page
    assert (tmp_path / "images" / "s0-errors-digits.png").stat().st_size > 5000
    assert not (tmp_path / "images" / "s0-errors-faces.png").exists()


def test_missing_data_sets_are_skipped_and_named(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("EIGENSPAN_DATA", raising=False)
    assert s0.main(["--data", "orl", "--out", str(tmp_path)]) == {}
    monkeypatch.setenv("EIGENSPAN_DATA", str(tmp_path))
    assert s0.main(["--data", "umist", "--out", str(tmp_path)]) == {}
    said = capsys.readouterr().out
    assert "orl skipped: EIGENSPAN_DATA is unset" in said
    assert "umist skipped: umist_28x23.npz is not in" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "olpp, onpp, answer", [(2, 3, "yes"), (3, 9, "in part, OLPP only"), (9, 2, "in part, ONPP only"), (7, 9, "no")]
)
def test_the_answer_follows_from_the_errors(olpp, onpp, answer):
    wobble = np.array([[-0.1], [0.1], [0.0]])
    lowest = dict.fromkeys(s0.METHODS, 8.0) | {"PCA": 7.0, "OLPP": float(olpp), "ONPP": float(onpp)}
    errors = {name: np.array([20.0, 10.0, low]) + wobble * (name != "PCA") for name, low in lowest.items()}
    errors |= {name + s0.UNIT: errors[name] for name in s0.OBLIQUE}
    said = s0.findings({"orl": s0.Result(s0.TASKS["orl"], 40, [1, 5, 10], errors)})
    assert f"ORL faces: {answer}." in said
    assert "PCA, 7.00 ± 0.00 % at d = 10" in said
    assert f"OLPP: {olpp:.2f} ± 0.06 % at d = 10, {7 - olpp:.2f} ± 0.06 points below PCA" in said
    assert f"lower than all four at the same d for d = {10 if onpp < 7 else 'none'}." in said.split("ONPP:")[1]


def test_runs_of_dimensions():
    chosen = np.array([True, False, True, True, True, False])
    assert s0.runs([1, 2, 3, 5, 10, 20], chosen) == "1, 3–10"
    assert s0.runs([1, 2], np.zeros(2, dtype=bool)) == "none"
