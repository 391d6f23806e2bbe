"""Methods that accept missing values, and methods that need a response."""

import numpy as np
import pandas as pd
import pytest

from cli_helpers import refused, run


@pytest.fixture
def table(tmp_path):
    """Write four columns, a response that depends on the first, and missing values in the last."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((200, 4)), columns=list("abcd"))
    frame["d"] += frame["c"]
    frame["yield"] = np.exp(frame["a"])
    frame["grade"] = np.where(frame["a"] > 0, "high", "low")
    frame.loc[::9, "d"] = np.nan
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_message_on_missing_values_names_a_method_that_accepts_them(table, tmp_path):
    assert "a method that accepts missing values, such as --method ppca" in refused(
        "embed", table, "--columns", "a,b,c,d"
    )


def test_missing_values_are_passed_to_methods_that_accept_them(table, tmp_path):
    out, model = tmp_path / "out.csv", tmp_path / "ppca.model"
    said = run("embed", table, "--columns", "a,b,c,d", "-m", "ppca", "-o", out, "--model", model)
    assert "23 values missing, in 23 rows: the method accepts missing values." in said
    embedded = pd.read_csv(out)
    assert len(embedded) == 200
    assert not embedded.filter(like="ppca").isna().any().any()
    run("transform", model, table, "-o", tmp_path / "new.csv")
    again = pd.read_csv(tmp_path / "new.csv").filter(like="ppca")
    np.testing.assert_allclose(again, embedded.filter(like="ppca"), atol=1e-8)


@pytest.mark.parametrize("response", ["yield", "grade"])
def test_response_may_be_numbers_or_text(response, table, tmp_path):
    out = tmp_path / "out.csv"
    run("embed", table, "--columns", "a,b,c", "-m", "sir", "-d", "1", "--label", response, "-o", out)
    found = pd.read_csv(out).filter(like="sir").to_numpy()[:, 0]
    assert abs(np.corrcoef(found, pd.read_csv(table)["a"])[0, 1]) > 0.95


def test_missing_response_is_refused(table, tmp_path):
    assert "name the column with --label" in refused("embed", table, "--columns", "a,b,c", "-m", "save")
