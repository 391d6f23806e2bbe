"""Files that are broken, and tables of which nothing is left."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from cli_helpers import refused, run

TABLE = "\n".join(["a,b,c", *(",".join(map(str, row)) for row in np.random.default_rng(0).standard_normal((300, 3)))])
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKERS)
def test_an_archive_cut_short(kind, tmp_path):
    whole = PACKERS[kind](TABLE.encode())
    table = tmp_path / f"cut.csv.{kind}"
    table.write_bytes(whole[: len(whole) // 2])
    output = refused("embed", table, "-m", "pca", "-o", tmp_path / "out.csv")
    assert "is damaged or was cut short" in output
    assert "Aborted" not in output


@pytest.mark.parametrize("kind", PACKERS)
def test_an_archive_with_wrong_bytes(kind, tmp_path):
    bent = bytearray(PACKERS[kind](TABLE.encode()))
    bent[len(bent) // 2] ^= 255
    table = tmp_path / f"bent.csv.{kind}"
    table.write_bytes(bytes(bent))
    assert str(table.name) in refused("embed", table, "-m", "pca", "-o", tmp_path / "out.csv")


def test_no_complete_row_is_left_to_transform(tmp_path):
    table, model = tmp_path / "table.csv", tmp_path / "table.model"
    table.write_text(TABLE)
    run("embed", table, "-m", "pca", "-o", tmp_path / "out.csv", "--model", model)
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("a,b,c\n1,,2\n,1,1\n")
    output = refused("transform", model, gaps, "--missing", "drop-rows", "-o", tmp_path / "new.csv")
    assert "2 rows with missing values (row 1, 2): drop-rows leaves nothing" in output
    assert "Choose --missing median" in output
    gaps.write_text("a,b,c\n1,,2\n3,1,1\n")
    output = run("transform", model, gaps, "--missing", "drop-rows", "-o", tmp_path / "new.csv")
    assert "1 row is left" in output


def test_no_complete_row_is_left_to_embed(tmp_path):
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("a,b\n1,\n,1\n3,\n,5\n")
    output = refused("embed", gaps, "--missing", "drop-rows", "-o", tmp_path / "new.csv")
    assert "leaves nothing. Choose --missing drop-columns or median" in output
