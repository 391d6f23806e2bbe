"""The comparisons of axes and plots of MNIST: they run on small digits, and their tables are correct."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from helpers import external_data

axes = pytest.importorskip("mnist_axes", reason="examples/ is not part of this distribution")
pictures = pytest.importorskip("mnist_pictures", reason="examples/ is not part of this distribution")


def few(rows, more=0):
    X, y = load_digits(return_X_y=True)
    return X[:rows], y[:rows], X[rows : rows + more], y[rows : rows + more]


def test_digits_are_read_and_new_ones_are_others():
    external_data("mnist")
    X, y, new, y_new = axes.load(200, 60)
    assert X.shape == (200, 50)
    assert new.shape == (60, 50)
    assert y.shape == (200,)
    assert set(y) == set(y_new) == set(range(10))
    again, *_ = axes.load(200)
    assert again == pytest.approx(X)


def test_the_table_and_the_figure_of_axes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(axes, "load", few)
    monkeypatch.setattr(axes, "AXES", (2, 10))
    monkeypatch.setenv("EIGENSPAN_DATA", str(tmp_path))
    axes.main(["--rows", "500", "--out", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    figures = [[float(cell) for cell in line.split("|")[3:5]] for line in lines[2:14]]
    assert len(figures) == 12
    assert all(0 <= value <= 1 for row in figures for value in row)
    assert all(ten > two for two, ten in figures[:3])  # majority vote of the neighbours
    assert (tmp_path / "mnist-axes.png").stat().st_size > 10_000


def test_votes_are_those_of_a_classifier_and_neighbours_are_kept():
    X, y, new, y_new = few(300, 100)
    alone = [KNeighborsClassifier(5).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] for i in range(300)]
    assert axes.vote(X, y) == pytest.approx(np.mean(alone == y))
    picture = pictures.Picture(X, 0.0, 0.0, new)
    theirs = KNeighborsClassifier(5).fit(X, y).score(new, y_new)
    assert pictures.vote_on_new(picture, y, y_new) == pytest.approx(theirs)
    assert axes.neighbours_kept(X)(3 * X, y) == 1.0
    assert axes.neighbours_kept(X)(np.random.default_rng(0).normal(size=(300, 2)), y) < 0.2
    assert pictures.arrangement(X, 2 * X + 1) == pytest.approx(1.0)


def test_t_sne_begins_at_the_first_two_axes():
    Y = np.random.default_rng(0).normal(size=(50, 5)) * [3, 1, 1, 1, 1]
    begun = pictures.beginning(Y)
    assert begun[:, 0].std() == pytest.approx(1e-4)
    assert np.linalg.matrix_rank(np.hstack([begun, 1e-4 * Y[:, :2]]), tol=1e-12) == 2
    assert begun[:, 1].std() / begun[:, 0].std() == pytest.approx(Y[:, 1].std() / Y[:, 0].std())


@pytest.mark.long
def test_the_table_and_the_figure_of_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "load", few)
    monkeypatch.setenv("EIGENSPAN_DATA", str(tmp_path))
    monkeypatch.setattr(pictures, "find_spec", lambda package: None if package in ("openTSNE", "umap") else True)
    monkeypatch.setattr(pictures, "TSNE", lambda **given: axes_of_tsne(given))
    pictures.main(["--rows", "500", "--new", "50", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "UMAP: umap is not installed; left out." in out
    rows = [line.split("|") for line in out.splitlines() if line.startswith("| ")][1:]
    assert [row[1].strip() for row in rows] == [
        "LaplacianEigenmaps(2)",
        "eigenmaps → scikit-learn's TSNE",
        "scikit-learn's TSNE",
    ]
    assert [row[6].strip() == "cannot be placed" for row in rows] == [False, True, True]
    assert 0.3 < float(rows[0][2]) < float(rows[1][2]) <= 1
    assert (tmp_path / "mnist-pictures.png").stat().st_size > 10_000


def axes_of_tsne(given):
    """Return t-SNE of scikit-learn with fewer iterations."""
    from sklearn.manifold import TSNE

    return TSNE(max_iter=300, **given)


def test_slow_methods_are_left_out(capsys):
    kept = pictures.there_are({"a": pictures.Way(None, most=10), "b": pictures.Way(None)}, 11)
    assert list(kept) == ["b"]
    assert "a: takes very long beyond 10 points; left out." in capsys.readouterr().out
