"""Displays with overlays on the points: graphs, arrows of features, distortion."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import decomposition
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenspan import LDA, PCA, Isomap, KernelPCA, LaplacianEigenmaps
from eigenspan.errors import InputError
from eigenspan.plotting import BiplotDisplay, DistortionDisplay, GraphDisplay
from eigenspan.plotting.graph_plot import MOST_EDGES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [3, 2, 1, 0.5]
Y = RNG.normal(size=(60, 2))
CLASSES = np.arange(60) % 3


def notes(display):
    return [text.get_text() for text in display.ax_.texts if text.get_gid() == "note"]


# ---------------------------------------------------------------------- graphs
def ring(n):
    return sp.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))


def test_every_edge_is_drawn_once():
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    both = ring(40) + ring(40).T
    display = GraphDisplay(circle, both).plot()
    assert display.n_edges_ == 40
    assert display.n_long_ == 0
    assert len(display.edges_.get_segments()) == 40
    drawn = {tuple(map(tuple, np.round(segment, 9))) for segment in display.edges_.get_segments()}
    assert tuple(map(tuple, np.round(circle[[0, 1]], 9))) in drawn
    assert notes(display) == []


def test_long_edges_are_highlighted():
    line = np.column_stack([np.arange(20.0), np.zeros(20)])
    graph = sp.lil_array(ring(20))
    graph[3, 11] = 1
    display = GraphDisplay(line, graph.tocsr()).plot()
    assert display.n_long_ == 2  # the added edge, and the one that closes the ring
    assert sorted(np.ptp(segment[:, 0]) for segment in display.long_.get_segments()) == [8, 19]
    assert notes(display) == ["2 edges over 4 × the median length"]
    assert GraphDisplay(line, graph.tocsr(), long=100).plot().n_long_ == 0


def test_many_edges_are_sampled_and_counted():
    n = 200
    points = RNG.normal(size=(n, 2))
    full = sp.csr_array(np.triu(np.ones((n, n)), 1))
    display = GraphDisplay(points, full, long=1000).plot()
    assert display.n_edges_ == n * (n - 1) // 2
    assert len(display.edges_.get_segments()) == MOST_EDGES
    assert notes(display) == ["5,000 of 19,900 edges drawn"]


def test_graph_of_an_estimator_with_duplicate_rows():
    points = np.vstack([X[:5], X[:5], X[5:]])
    fitted = LaplacianEigenmaps(2, n_neighbors=6).fit(points)
    assert fitted.graph_.n == 60
    display = GraphDisplay.from_estimator(fitted, np.arange(65) % 2)
    assert display.n_edges_ == fitted.graph_.undirected().nnz // 2
    ends = np.vstack(display.edges_.get_segments() + display.long_.get_segments())
    graph = fitted.graph_.undirected().tocoo()
    expected = fitted.embedding_[fitted.graph_.rows[graph.row]]  # both ends of every edge, for both directions
    assert np.sort(ends, axis=0) == pytest.approx(np.sort(expected, axis=0))
    assert display.ax_.get_title() == "LaplacianEigenmaps"
    assert display.points_.legend_ is not None


# ---------------------------------------------------------------------- features
def test_biplot_products_approximate_the_features():
    fitted = PCA(4).fit(X)
    for alpha in (0.0, 0.5, 1.0):
        display = BiplotDisplay.from_estimator(fitted, alpha=alpha)
        rebuilt = display.points_.embedding @ display.loadings.T
        assert rebuilt == pytest.approx(X - X.mean(axis=0))


def test_covariance_biplot_shows_standard_deviations_and_correlations():
    display = BiplotDisplay.from_estimator(PCA(4).fit(X), alpha=0)
    assert display.points_.embedding.std(axis=0) == pytest.approx(1)
    assert display.loadings @ display.loadings.T == pytest.approx(np.cov(X.T, bias=True))


def test_the_form_biplot_keeps_the_points():
    fitted = PCA(2).fit(X)
    display = BiplotDisplay.from_estimator(fitted)
    assert display.points_.embedding == pytest.approx(fitted.embedding_)
    assert display.loadings == pytest.approx(fitted.components_.T)
    assert display.ax_.get_aspect() == 1.0


def test_arrows_are_sorted_by_length_and_labelled():
    table = pd.DataFrame(X, columns=["one", "two", "three", "four"])
    fitted = PCA(2).fit(table)
    display = BiplotDisplay.from_estimator(fitted, CLASSES, top=2)
    lengths = np.linalg.norm(fitted.components_, axis=0)
    assert list(display.features_) == list(np.argsort(-lengths)[:2])
    assert [label.get_text() for label in display.labels_] == [table.columns[j] for j in display.features_]
    tips = np.array([arrow.xy for arrow in display.arrows_])
    assert tips == pytest.approx(display.factor_ * fitted.components_.T[display.features_])
    assert notes(display) == [f"arrows × {display.factor_:.3g}"]
    reach = np.linalg.norm(fitted.embedding_, axis=1).max()
    assert 0.5 * reach < np.linalg.norm(tips, axis=1).max() < reach
    low, high = np.transpose([display.ax_.get_xlim(), display.ax_.get_ylim()])
    assert ((tips > low) & (tips < high)).all()


def test_labels_do_not_overlap():
    loadings = np.column_stack([np.ones(5), np.linspace(-0.02, 0.02, 5)])
    display = BiplotDisplay(Y, loadings, feature_names=[f"feature {j}" for j in range(5)]).plot()
    display.figure_.draw_without_rendering()
    boxes = [label.get_window_extent() for label in display.labels_]
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    shared = [max(0, min(a.x1, b.x1) - max(a.x0, b.x0)) * max(0, min(a.y1, b.y1) - max(a.y0, b.y0)) for a, b in pairs]
    assert max(shared) < 0.1 * boxes[0].width * boxes[0].height


def test_biplot_of_other_linear_methods_pipelines_and_libraries():
    table = pd.DataFrame(X, columns=list("abcd"))
    lda = LDA(2).fit(X, CLASSES)
    assert BiplotDisplay.from_estimator(lda, CLASSES).loadings == pytest.approx(np.linalg.pinv(lda.components_))
    steps = make_pipeline(StandardScaler(), PCA(2)).fit(table)
    assert {label.get_text() for label in BiplotDisplay.from_estimator(steps).labels_} == set("abcd")
    theirs = decomposition.PCA(2, whiten=True).fit(X)
    display = BiplotDisplay.from_estimator(theirs, X=X)
    rebuilt = display.points_.embedding @ display.loadings.T
    assert rebuilt == pytest.approx(theirs.inverse_transform(theirs.transform(X)) - theirs.mean_)


# ---------------------------------------------------------------------- distortion
def test_distortion_colours_and_marks():
    values = np.arange(60.0) ** 2
    display = DistortionDisplay(Y, values, value_name="stretch", title="here").plot(worst=3)
    assert list(display.worst_) == [59, 58, 57]
    assert np.asarray(display.marks_.get_offsets()) == pytest.approx(Y[[59, 58, 57]])
    assert [text.get_text() for text in display.ax_.texts] == ["59", "58", "57"]
    assert display.colorbar_.ax.get_ylabel() == "stretch"
    drawn = np.asarray(display.scatter_.get_offsets())
    back = [int(np.flatnonzero((place == Y).all(axis=1))[0]) for place in drawn]
    assert np.asarray(display.scatter_.get_array()) == pytest.approx(values[back])
    assert DistortionDisplay(Y, values).plot().marks_ is None


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: GraphDisplay(Y, np.ones((60, 60))), "must be a sparse matrix.*got ndarray"),
        (lambda: GraphDisplay(Y, ring(50)), r"shape \(50, 50\), but the embedding has 60 points"),
        (lambda: GraphDisplay(Y, ring(60), long=0), "long=0 must be positive"),
        (lambda: GraphDisplay(Y[:, :1], ring(60)).plot(), "two components"),
        (lambda: GraphDisplay.from_estimator(PCA(2).fit(X)), "PCA has no graph_: it was fitted without"),
        (lambda: GraphDisplay.from_estimator(Isomap(2)), "not fitted"),
        (lambda: BiplotDisplay.from_estimator(KernelPCA(2).fit(X)), "KernelPCA has no components_.*linear method"),
        (lambda: BiplotDisplay.from_estimator(PCA(1).fit(X)), "at least two axes"),
        (lambda: BiplotDisplay(Y, np.ones((3, 5))), r"scores have shape \(60, 2\), loadings \(3, 5\)"),
        (lambda: BiplotDisplay(Y, np.zeros((3, 2))), "all zero"),
        (lambda: BiplotDisplay(Y, np.eye(2), feature_names=["a"]), "1 feature_names for 2 features"),
        (lambda: BiplotDisplay(Y, np.eye(2), alpha=2), "alpha=2 must lie between 0"),
        (lambda: BiplotDisplay(Y, np.eye(2)).plot(top=0), "needs top >= 1"),
        (lambda: DistortionDisplay(Y, np.ones(5)), r"one number per point \(60 points\), but have shape \(5,\)"),
        (lambda: DistortionDisplay(Y, np.full(60, np.nan)), "60 of 60 are not"),
        (lambda: DistortionDisplay(Y, np.ones(60)).plot(worst=61), "worst=61 must lie between 0"),
    ],
)
def test_invalid_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
