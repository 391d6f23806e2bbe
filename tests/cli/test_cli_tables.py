"""Valid and invalid tables of every format on the command line."""

import re

import numpy as np
import pandas as pd
import pytest

from cli_helpers import refused, run


@pytest.mark.parametrize("suffix", ["npz", "npy", "parquet", "csv", "csv.gz"])
def test_every_binary_format_is_read(suffix, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 5))
    table, out = tmp_path / f"data.{suffix}", tmp_path / "out.csv"
    if suffix == "npz":
        np.savez(table, X=X, y=np.arange(40) % 2, extra=np.zeros(3))
    elif suffix == "npy":
        np.save(table, X)
    elif suffix == "parquet":
        pd.DataFrame(X, columns=list("abcde")).to_parquet(table)
    else:
        pd.DataFrame(X).to_csv(table, index=False, header=False)
    output = run("embed", table, "-m", "pca", "-o", out)
    assert "40 rows and 5 columns" in output
    assert ("no header" in output) == suffix.startswith("csv")
    if suffix == "npz":
        assert "(vectors stored beside the matrix): 'y'" in output
        assert "Left out: 'extra'" in output


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "There is no file"),
        ("", "is empty"),
        ("a,b\n", "holds no data"),
        ("a,b\nx,y\nz,w\n", "None of the 2 columns can be embedded"),
        ("a,b\n1,2\n", "None of the 2 columns can be embedded"),
        ("a,b\n1,2\n1,2,3,4\n", "cannot be read as a table"),
    ],
)
def test_invalid_tables_are_refused(content, message, tmp_path):
    table = tmp_path / "bad.csv"
    if content is not None:
        table.write_text(content)
    assert re.search(message, refused("embed", table, "-o", tmp_path / "out.csv"))


def test_invalid_binary_files_are_refused(tmp_path):
    for name in ("bad.npz", "bad.npy", "bad.parquet"):
        (tmp_path / name).write_bytes(b"this is not what its name says")
        assert re.search("not a", refused("embed", tmp_path / name, "-o", tmp_path / "out.csv"))
    np.savez(tmp_path / "two.npz", A=np.eye(3), B=np.eye(4))
    assert "A (3, 3), B (4, 4)" in refused("embed", tmp_path / "two.npz", "-o", tmp_path / "out.csv")
    (tmp_path / "table.docx").write_bytes(b"PK")
    assert "unsupported ending" in refused("embed", tmp_path / "table.docx")
    (tmp_path / "folder").mkdir()
    assert "is a directory" in refused("embed", tmp_path / "folder", "-o", tmp_path / "out.csv")
