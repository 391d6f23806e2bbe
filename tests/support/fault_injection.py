"""Faults in the calls by which `eigenspan._files` changes the disk: calls are counted, and one of them fails.

As in SQLite's tests, a simulated kill does not end the process. From the chosen call on nothing is written to the disk, including
clean-up, and data that were not flushed with fsync are truncated to half, as after a power failure.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eigenspan import _files

#: Kinds of faults at the chosen call. With the late kinds the call succeeds first.
KINDS = ("full", "interrupt", "late interrupt", "kill", "late kill")
#: Calls of `os` that change the disk.
_COUNTED = ("open", "mkdir", "fsync", "chown", "chmod", "rmdir", "replace")
#: Small buffer, so that small results need several writes.
_BUFFER = 2048


class Killed(BaseException):
    """Simulated kill of the process."""


class Faults:
    """Counter of calls that raises at call number `at` (from 1), or never if it is None."""

    def __init__(self, kind: str = "full", at: int | None = None) -> None:
        self.kind, self.at, self.count = kind, at, 0
        self.dead = False
        self.names: list[str] = []
        self.unsynced: set[int] = set()

    def call(self, name: str, work: Callable[[], Any], half: Callable[[], Any] = lambda: None) -> Any:
        """Run `work`, or simulate the fault; `half` does the part of an interrupted call that takes effect."""
        if self.dead:
            raise Killed
        self.count += 1
        self.names.append(name)
        if self.count != self.at:
            return work()
        if self.kind.startswith("late"):
            found = work()
            if name == "open":
                os.close(found)
        elif self.kind in ("full", "kill"):
            half()
        if self.kind == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.kind.endswith("interrupt"):
            raise KeyboardInterrupt
        self.dead = True
        raise Killed

    def alive(self) -> None:
        """Raise `Killed` if the simulated process was killed."""
        if self.dead:
            raise Killed

    def lose(self, folder: Path) -> None:
        """Truncate every file to half that was written to after its last fsync."""
        for path in folder.rglob("*"):
            if path.is_file() and path.stat().st_ino in self.unsynced:
                os.truncate(path, path.stat().st_size // 2)

    @contextmanager
    def injected(self) -> Iterator[Faults]:
        """Count the calls of the block."""
        faults, real = self, {name: getattr(_files, name) for name in ("os", "shutil", "_Raw", "_BUFFER")}

        class Os:
            def __getattr__(self, name: str) -> Any:
                function = getattr(os, name)
                if name == "unlink":
                    faults.alive()
                return faults.wrapped(name, function) if name in _COUNTED else function

        class Shutil:
            def __getattr__(self, name: str) -> Any:
                faults.alive()
                return getattr(shutil, name)

        class Raw(_files._Raw):
            def write(self, data: Any, /) -> int:
                faults.unsynced.add(os.fstat(self.fileno()).st_ino)
                parent = super()
                with self._as_output_error():
                    return faults.call(
                        "write", lambda: parent.write(data), lambda: parent.write(data[: len(data) // 2])
                    )

        _files.os, _files.shutil, _files._Raw, _files._BUFFER = Os(), Shutil(), Raw, _BUFFER  # type: ignore[assignment, attr-defined, misc]
        try:
            yield self
        finally:
            for name, value in real.items():
                setattr(_files, name, value)

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count a call of `os`; a successful fsync marks the data of the file as safe."""

        def counted(*arguments: Any, **options: Any) -> Any:
            found = self.call(name, lambda: function(*arguments, **options))
            if name == "fsync":
                self.unsynced.discard(os.fstat(arguments[0]).st_ino)
            return found

        return counted


# ---------------------------------------------------------------------- nothing else writes
_watched: list[tuple[Path, list[str]]] = []
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched or event != "open":
        return
    name, _, flags = arguments
    if isinstance(name, str) and isinstance(flags, int) and flags & _WRITES:
        folder, found = _watched[-1]
        path = Path(os.path.abspath(name))
        inside = [path, *path.parents]
        if folder in inside and not any(_files.is_draft(part) for part in inside[: inside.index(folder)]):
            found.append(name)


sys.addaudithook(_audit)  # stays until the process ends


@contextmanager
def other_writes(folder: Path) -> Iterator[list[str]]:
    """Return names of files in a folder that are opened for writing, other than drafts."""
    _watched.append((folder, []))
    try:
        yield _watched[-1][1]
    finally:
        _watched.pop()
