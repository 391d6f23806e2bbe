"""The tables of equivalent kernels, on a few points."""

import pytest

from helpers import quietly

kernels = pytest.importorskip("equivalent_kernels", reason="examples/ is not part of this distribution")


def test_every_method_is_kernel_pca_and_the_printed_table_is_not():
    sets = {"Swiss roll": kernels.data(fast=True)["Swiss roll"]}
    rows = quietly(lambda: kernels.table(sets))
    assert len(rows) == len(kernels.METHODS)
    for row in rows:
        assert row["angle"] < 1e-4, row
        assert row["new points"] < 1e-6, row
    assert "| `" not in kernels.markdown(kernels.across(rows))
    literal = quietly(lambda: kernels.literally(sets))[0]
    assert literal["D^(−½)WD^(−½), centred"] > 0.1
    assert literal["L†"] > 0.1


def test_geodesics_are_no_kernel():
    sets = {"Swiss roll": kernels.data(fast=True)["Swiss roll"]}
    row = quietly(lambda: kernels.geodesics(sets))[0]
    assert 0 < row["distance to the nearest kernel"] < 1
    assert row["constant / largest geodesic"] > 0
