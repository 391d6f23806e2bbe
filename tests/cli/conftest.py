"""Commands write beside where they are called: never into the checkout, which may be read-only."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "called here").mkdir()
    monkeypatch.chdir(tmp_path / "called here")
