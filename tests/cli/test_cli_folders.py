"""Folders of Parquet files as input and output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli_helpers import refused, run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 5)) @ rng.normal(size=(5, 5)) + 100, columns=list("abcde"))
    frame.insert(0, "id", np.arange(len(frame)) + 7)
    frame["kind"] = np.where(frame["a"] > 100, "high", "low")
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "_SUCCESS").touch()
    for i, rows in enumerate(np.array_split(np.arange(3000), 4)):
        frame.iloc[rows].to_parquet(tmp_path / "in" / f"{i}.parquet", index=False)
    return tmp_path


@pytest.fixture(params=[False, True], ids=["at once", "in parts"])
def in_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param:
        monkeypatch.setattr("eigenspan.cli.files.parts._ROWS", 700)
        monkeypatch.setattr("eigenspan.cli.files.parts.available_memory", lambda: 10_000)
    return request.param


@pytest.mark.parametrize("method", ["pca", "lda"])
@pytest.mark.every(2)
def test_folder_of_parquet_files_is_read_as_one_table(
    folder: Path, in_parts: bool, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["-m", method, "-d", 1, "--label", "kind"]
    said = run("embed", folder / "in", *settings, "-o", folder / "out")
    assert ("reading it in chunks" in said) == in_parts
    monkeypatch.undo()
    run("embed", folder / "whole.parquet", *settings, "-o", folder / "whole.csv")
    files = sorted((folder / "out").iterdir())
    assert len(files) == (8 if in_parts else 1)
    found, whole = pd.concat(map(pd.read_parquet, files), ignore_index=True), pd.read_csv(folder / "whole.csv")
    assert list(found) == list(whole)
    assert found.iloc[:, 0].tolist() == whole.iloc[:, 0].tolist()
    np.testing.assert_allclose(found[f"{method}0"].abs(), whole[f"{method}0"].abs(), atol=1e-8)
    assert found["kind"].tolist() == whole["kind"].tolist()
    run("embed", folder / "in", *settings, "-o", folder / "out.csv")
    pd.testing.assert_frame_equal(pd.read_csv(folder / "out.csv"), whole)


def test_invalid_folders_are_refused(folder: Path, in_parts: bool) -> None:
    (folder / "empty").mkdir()
    assert "is a directory without Parquet files" in refused("embed", folder / "empty", "-o", folder / "o.csv", code=2)
    assert "already contains files" in refused("embed", folder / "in", "-o", folder / "in", code=2)
    assert "does not end like a supported table" in refused(
        "embed", folder / "whole.parquet", "-o", folder / "out", code=2
    )
    assert "holds folders of Parquet files" in refused("embed", folder, "-o", folder / "o.csv", code=2)
    pd.DataFrame({"a": [1.0, 2.0], "other": [2.0, 3.0]}).to_parquet(folder / "in" / "9.parquet")
    assert "change within the table" in refused("embed", folder / "in", "-o", folder / "o.csv", code=3)
