"""Caching of compiled loops: unwritable, damaged and outdated caches, and the message about compilation."""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile

from eigenspan._diagnostics import logger
from eigenspan.cli.console import working
from eigenspan.numerics.jit import compiler as jit


def loop(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a new cache directory, as in a process that has not compiled anything yet."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "_first", Lock())
    return tmp_path


def files(cache: Path, ending: str) -> list[Path]:
    return sorted(cache.rglob(f"*.{ending}"))


def from_cache() -> bool:
    """Whether the loop is loaded from the cache, as in a new process; the loop must run in either case."""
    fresh = jit.compiled(loop)
    assert fresh(10) == 45
    return bool(fresh.stats.cache_hits)


def test_compiled_loops_are_cached(cache: Path) -> None:
    assert not from_cache()
    assert len(files(cache, "nbi")) == len(files(cache, "nbc")) == 1
    assert from_cache()


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.95])
@pytest.mark.every(2)
def test_damaged_cache_is_rebuilt(cache: Path, ending: str, part: float) -> None:
    from_cache()
    for file in files(cache, ending):
        file.write_bytes(file.read_bytes()[: int(part * file.stat().st_size)])
    assert not from_cache()
    assert from_cache()


def test_cache_of_random_bytes_is_rebuilt(cache: Path) -> None:
    from_cache()
    for file in [*files(cache, "nbi"), *files(cache, "nbc")]:
        file.write_bytes(b"\x80\x04noise" * 20)
    assert not from_cache()
    assert from_cache()


def test_full_disk_only_disables_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*ignored: Any) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    assert not from_cache()
    assert not from_cache()


def test_no_writable_cache_directory(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    assert not from_cache()
    assert not from_cache()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "set NUMBA_CACHE_DIR" in caplog.text


def test_a_read_only_installation_uses_the_cache_of_the_user(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    beside = next(place for place in FunctionCache._impl_class._locator_classes if "InTree" in place.__name__)

    def read_only(self: Any) -> None:
        raise PermissionError("read-only file system")

    monkeypatch.setattr(beside, "ensure_cache_path", read_only)
    assert not from_cache()
    assert files(home, "nbc")
    assert from_cache()


def test_changed_sources_are_recompiled(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba does not detect changes in loops of other files that are compiled into this one."""
    from_cache()
    monkeypatch.setattr(jit, "_SOURCES", "another release")
    assert not from_cache()
    assert len(files(cache, "nbc")) == 1


def test_compiling_is_announced_once(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    from_cache()
    jit.summed(loop)(3.0)
    assert [(record.name, record.levelname) for record in caplog.records] == [("eigenspan", "WARNING")]
    assert "Compiling" in caplog.text
    assert "for what follows" in caplog.text
    assert str(cache) in caplog.text


def test_loading_is_not_announced(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from_cache()
    caplog.clear()
    monkeypatch.setattr(jit, "_first", Lock())
    assert from_cache()
    assert not caplog.records


def test_command_line_announces_compilation_on_its_own_line(capfd: pytest.CaptureFixture[str]) -> None:
    with working("Fitting"):
        logger.warning("Compiling loops")
        logger.log(logging.INFO, "neighbours: 0.1 s")
    assert "Compiling loops\n" in capfd.readouterr().err


def test_numba_is_imported_in_one_module_only() -> None:
    folder = Path(jit.__file__).parent
    assert [path.name for path in folder.parent.rglob("*.py") if "njit" in path.read_text(encoding="utf-8")] == [
        "compiler.py"
    ]
