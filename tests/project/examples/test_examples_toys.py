"""The toy figures of S2 agree with the paper, for several seeds."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from eigenspan import SELF

toys = pytest.importorskip("toy_figures_s2", reason="examples/ is not part of this distribution")

#: Figure -> (methods that fail, methods that find the projection, angle of the correct axis), [S2, §3.3].
CLAIMS = {
    "figure_4": (("FDA", "LPP", "SS-FDA"), ("LFDA", "SS-LFDA"), 0),
    "figure_5": (("FDA", "PCA", "LFDA", "SELF"), ("LPP", "SS-LFDA"), 90),
    "figure_6": (("LFDA", "LPP"), ("SS-LFDA",), 90),
}
FAILS, FINDS = 75, 95


def holds(figure, **seed):
    """Return True if all claims of a figure hold, and the accuracies."""
    toy, (fail, find, _) = getattr(toys, figure)(**seed), CLAIMS[figure]
    found = {name: toys.fitted(toy, toys.methods()[name])[0] for name in (*fail, *find)}
    return all(found[name] < FAILS for name in fail) and all(found[name] > FINDS for name in find), found


@pytest.mark.parametrize("figure", CLAIMS)
def test_the_figure_agrees_with_the_paper(figure):
    shown, found = holds(figure)
    assert shown, found


@pytest.mark.parametrize("figure", CLAIMS)
def test_the_axes_are_correct(figure):
    toy, (fail, find, right) = getattr(toys, figure)(), CLAIMS[figure]
    found = {name: toys.fitted(toy, toys.methods()[name])[1] for name in (*fail, *find)}
    off = {name: abs((np.degrees(np.arctan2(V[1], V[0])) - right + 90) % 180 - 90) for name, V in found.items()}
    assert max(off[name] for name in find) < 6, off
    assert min(off[name] for name in fail) > 25, off


@pytest.mark.parametrize("figure", CLAIMS)
@pytest.mark.every(3)
def test_other_seeds_show_the_same(figure):
    draws = [holds(figure, seed=seed) for seed in range(100, 112)]
    assert sum(shown for shown, _ in draws) >= 9, draws


@pytest.mark.parametrize("figure", CLAIMS)
def test_few_points_of_both_classes_are_labelled(figure):
    toy = getattr(toys, figure)()
    assert toy.known.mean() <= 0.12
    assert set(toy.y[toy.known]) == {0, 1}


def test_no_mixture_of_lfda_and_pca_finds_figure_5():
    toy = toys.figure_5()
    mixed = [toys.fitted(toy, SELF(1, beta=beta, affinity="neighbours"))[0] for beta in np.linspace(0, 1, 21)]
    assert max(mixed) < FAILS
    assert mixed[0] == toys.fitted(toy, toys.methods()["LFDA"])[0]
    assert mixed[-1] == toys.fitted(toy, toys.methods()["PCA"])[0]


def test_accuracy_is_that_of_the_nearest_labelled_point_on_the_axis():
    toy = toys.figure_5()
    accuracy, axis = toys.fitted(toy, toys.methods()["PCA"])
    right = 0
    for x, c in zip(toy.X[~toy.known], toy.y[~toy.known], strict=True):
        right += c == toy.y[toy.known][np.argmin(np.abs((toy.X[toy.known] - x) @ axis))]
    assert accuracy == pytest.approx(100 * right / np.sum(~toy.known))


def test_edges_are_the_pairs_with_large_costs():
    X = toys.figure_6().X
    D = squareform(pdist(X))
    sigma = np.sort(D, axis=1)[:, 3]
    large = np.exp(-(D**2) / np.outer(sigma, sigma)) > 0.1
    np.testing.assert_array_equal(toys.edges(X), np.argwhere(np.triu(large, k=1)))
    left = X[toys.edges(X), 0] < 0
    assert np.all(left[:, 0] == left[:, 1])


def test_the_script_prints_a_table_and_writes_the_picture(tmp_path, capsys):
    results = toys.main(["--out", str(tmp_path / "new")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| | FDA | PCA | LPP | LFDA | SELF | SS-FDA | SS-LFDA |"
    for line, (name, found) in zip(lines[2:], results.items(), strict=True):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        assert cells == [name, *(f"{found[method][0]:.0f} %" for method in toys.COLOURS)]
    assert (tmp_path / "new" / "s2-toys.png").stat().st_size > 20_000
