"""Run every command in a temporary folder, because the checkout may be read-only."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "called here").mkdir()
    monkeypatch.chdir(tmp_path / "called here")
