"""Damaged files, and tables without any usable row."""

import bz2
import gzip
import hashlib
import json
import lzma
import os
import pickle

import numpy as np
import pytest

import eigenspan
from cli_helpers import refused, run
from eigenspan.errors import ModelError
from eigenspan.models import describe
from eigenspan.models.model_files import write_model

TABLE = "\n".join(["a,b,c", *(",".join(map(str, row)) for row in np.random.default_rng(0).standard_normal((300, 3)))])
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.fixture
def model(tmp_path):
    table, path = tmp_path / "table.csv", tmp_path / "table.eig"
    table.write_text(TABLE)
    run("embed", table, "-m", "pca", "-o", tmp_path / "out.csv", "--model", path)
    return path


@pytest.mark.parametrize("kind", PACKERS)
def test_truncated_archive_is_refused(kind, tmp_path):
    whole = PACKERS[kind](TABLE.encode())
    table = tmp_path / f"cut.csv.{kind}"
    table.write_bytes(whole[: len(whole) // 2])
    output = refused("embed", table, "-m", "pca", "-o", tmp_path / "out.csv")
    assert "is damaged or was cut short" in output
    assert "Aborted" not in output


@pytest.mark.parametrize("kind", PACKERS)
def test_corrupted_archive_is_refused(kind, tmp_path):
    bent = bytearray(PACKERS[kind](TABLE.encode()))
    bent[len(bent) // 2] ^= 255
    table = tmp_path / f"bent.csv.{kind}"
    table.write_bytes(bytes(bent))
    assert str(table.name) in refused("embed", table, "-m", "pca", "-o", tmp_path / "out.csv")


def test_transform_refuses_a_table_without_complete_rows(model, tmp_path):
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("a,b,c\n1,,2\n,1,1\n")
    output = refused("transform", model, gaps, "--missing", "drop-rows", "-o", tmp_path / "new.csv")
    assert "2 rows with missing values (rows 1, 2): drop-rows leaves no row" in output
    assert "Use --missing median" in output
    gaps.write_text("a,b,c\n1,,2\n3,1,1\n")
    output = run("transform", model, gaps, "--missing", "drop-rows", "-o", tmp_path / "new.csv")
    assert "1 row remains" in output


def test_pickled_model_is_not_opened(model, tmp_path):
    """Older versions wrote models as one line of description and a pickle."""
    marker = tmp_path / "ran"
    payload = pickle.dumps(Trap(marker))
    header = {"format": "eigenspan-model", "version": 1, "bytes": len(payload)}
    header["sha256"] = hashlib.sha256(payload).hexdigest()
    for content in (json.dumps(header).encode() + b"\n" + payload, payload):
        model.write_bytes(content)
        output = refused("transform", model, tmp_path / "table.csv", "-o", tmp_path / "new.csv")
        assert "stored as a pickle" in output
        assert "Fit the model again" in output
    assert not marker.exists()
    assert not (tmp_path / "new.csv").exists()
    pickle.loads(payload)
    assert marker.exists(), "the trap would have closed"


class Trap:
    """Creates a folder when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def test_python_and_command_line_models_are_distinguished(model, tmp_path):
    with pytest.raises(ModelError, match="is a model of the command line"):
        eigenspan.load(model)
    assert describe(model)["provenance"]["columns"] == ["a", "b", "c"]
    eigenspan.save(eigenspan.PCA(2), model)
    output = refused("transform", model, tmp_path / "table.csv", "-o", tmp_path / "new.csv")
    assert "holds only a PCA" in output
    write_model({"method": "PCA", "estimator": eigenspan.PCA(2)}, model, eigenspan.PCA(2))
    assert "is malformed" in refused("transform", model, tmp_path / "table.csv", "-o", tmp_path / "new.csv")


def test_model_that_cannot_be_saved_is_refused(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text(TABLE)
    output = refused("embed", table, "-m", "pca", "-o", tmp_path / "out.csv", "--model", tmp_path / "no" / "m.eig")
    assert "no" in output


def test_embed_refuses_a_table_without_complete_rows(tmp_path):
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("a,b\n1,\n,1\n3,\n,5\n")
    output = refused("embed", gaps, "--missing", "drop-rows", "-o", tmp_path / "new.csv")
    assert "leaves no row. Use --missing drop-columns or median" in output
