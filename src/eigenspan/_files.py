"""Atomic writing of files: a result appears complete, or the old file stays unchanged.

`writing` yields a draft file to write to. The draft is in the folder of the target, has an unpredictable name that begins with a dot
and ends in ``.part``, and is created exclusively, so that no existing file and no planted link is ever written to. Once it is complete,
it is flushed to the disk and renamed to the target, which is atomic. On any error, Ctrl-C included, the draft is removed and the
target is unchanged. Only a process that is killed leaves a draft behind; `is_draft` recognises it.

Links: if the target is a symbolic link, it is resolved once, at the start, and the file it names is replaced; the link stays. This
serves users who keep ``latest.csv`` as a link. A hard link is separated: the other names keep the old contents.

The permission bits of a replaced file are kept, and its owner and group if the process may set them. A file without write permission
is refused, although its folder would allow its replacement. Devices, pipes and files that are already open (``/dev/null``, FIFOs,
``/dev/stdout``) are written directly.

`writing_folder` does the same for a folder of files, and `together` completes several outputs before it replaces the first.
"""

from __future__ import annotations

import atexit
import errno
import io
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, Any

from .errors import OutputError
from .numerics.memory import human_bytes

#: Maximum bytes of the target's name repeated in the draft's name: file names are limited to 255 bytes.
_NAMED = 100
#: Size of the write buffer in bytes.
_BUFFER = 2**17
#: Error codes of fsync on file systems that do not support it; these errors are ignored.
_NO_FSYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
#: Names of files that are open in this process.
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d+)")
_STREAMS = {"stdout": 1, "stderr": 2}
_ADVICE = {
    errno.ENOSPC: "Free some space on the disk, or choose another folder.",
    errno.EDQUOT: "Free some space within your quota, or choose another folder.",
    errno.EFBIG: "The file exceeds the size limit of this process (see ulimit -f) or of the file system: choose another folder.",
    **dict.fromkeys((errno.EACCES, errno.EPERM), "Choose a file and a folder with write permission."),
    errno.EROFS: "The disk is read-only: choose another folder.",
    errno.EBUSY: "The target is in use or is a mount point: choose another name.",
    **dict.fromkeys((errno.ENOTEMPTY, errno.EEXIST), "The folder is no longer empty: choose another name."),
    errno.ENAMETOOLONG: "Choose a shorter name.",
}


# ---------------------------------------------------------------------- files
@contextmanager
def writing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a binary file whose contents atomically replace those of `path` when the block ends without an error.

    The file can be read and repositioned unless `path` is a device or a pipe. Its ``name`` is that of the draft, for libraries that
    need a file name. That name ends in ``.part``, so state the format explicitly. Within `together`, the replacement waits for the other
    files.

    Raises OutputError if the file cannot be written; other errors of the block pass through.
    """
    path = Path(path)
    if is_special(path):
        with _Raw(path, path, "wb", None, (BrokenPipeError,)).buffered() as file:
            yield file
        return
    target, old = _resolved(path)
    draft = _Draft(_draft_name(target), target, path, old)
    with _kept_or_removed(draft):
        mode = 0o666 if old is None else old.st_mode & 0o666 | 0o600
        with _Raw(draft.place, path, "x+b", old is not None, mode=mode).buffered() as file:
            yield file
        draft.finish()


@contextmanager
def writing_folder(path: str | PathLike[str]) -> Iterator[DraftFolder]:
    """Yield a folder that appears at `path`, with all of its files, when the block ends without an error.

    An existing folder is replaced only if it is empty; otherwise OutputError is raised.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    old = _stat(target)
    if old is not None and not stat.S_ISDIR(old.st_mode):
        raise OutputError(f"{str(path)!r} is a file: name a folder instead.")
    if old is not None and any(target.iterdir()):
        raise OutputError(f"{str(path)!r} is a folder that already contains files: name a new folder.")
    _check_parent(target)
    draft = _Draft(_draft_name(target), target, path, old)
    with _kept_or_removed(draft):
        with _as_output_error(path, False):
            os.mkdir(draft.place)
        yield DraftFolder(draft)
        _sync_folder(draft.place)
        draft.finish()


@contextmanager
def together() -> Iterator[None]:
    """Complete all files written in the block before the first of them replaces an old one.

    If the block fails, no file is replaced. The replacements are made one after another, in the order of completion: a process that is
    killed between two of them leaves the first file new and the second old.
    """
    if _group.get() is not None:
        yield
        return
    waiting: list[_Draft] = []
    token = _group.set(waiting)
    try:
        yield
        for draft in waiting:
            draft.replace()
    finally:
        _group.reset(token)
        for draft in waiting:
            draft.remove()


def copy_of_stream(stream: Any, name: str) -> Path:
    """Copy a stream to a private temporary file, which may use 90 % of the free space and is removed when the process ends."""
    with _as_output_error(Path("the temporary folder")):
        folder = Path(tempfile.mkdtemp(prefix="eigenspan-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    most = 9 * shutil.disk_usage(folder).free // 10
    try:
        with _Raw(folder / name, folder / name, "x+b", None).buffered(sync=False) as file:
            while block := stream.read(_BUFFER):
                file.write(block)
                if file.tell() > most:
                    raise OutputError(
                        f"The pipe holds more than {human_bytes(most)}, which is 90 % of the free temporary space. Name a file instead."
                    )
    except OutputError as failure:
        shutil.rmtree(folder, ignore_errors=True)
        raise OutputError(f"{failure} Or set TMPDIR to a folder with more space.") from failure
    return folder / name


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents."""
    with _as_output_error(path):
        path.mkdir(parents=True, exist_ok=True)


def is_draft(path: Path) -> bool:
    """Whether a file name is that of a draft: an incomplete file whose writer was killed."""
    return path.name.startswith(".") and path.name.endswith(".part")


def is_special(path: Path) -> bool:
    """Whether a path is a device, a pipe, a socket, or a file that this process already has open (``/dev/stdout``)."""
    if _descriptor(path) is not None:
        return True
    found = _stat(path)  # stat follows links; links to pipes cannot be resolved by name
    return found is not None and not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode)


class Memory(io.BytesIO):
    """In-memory file that ignores `close`: a truncated archive writes its end when it is garbage-collected, possibly after the file."""

    def close(self) -> None:
        """Do nothing; the memory is freed with the object."""


class DraftFolder:
    """Unfinished folder; `open` adds a file."""

    def __init__(self, draft: _Draft) -> None:
        self._draft = draft

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a new binary file in the folder."""
        with _Raw(self._draft.place / name, self._draft.named, "x+b", False).buffered() as file:
            yield file


# ---------------------------------------------------------------------- drafts
@dataclass(frozen=True, eq=False)
class _Draft:
    """Unfinished file or folder.

    Parameters
    ----------
    place : Path
        Path of the draft.
    target : Path
        Path that it will replace, with links resolved.
    named : Path
        Target as the user gave it, for messages.
    old : stat_result or None
        Status of the existing target, if any.
    """

    place: Path
    target: Path
    named: Path
    old: os.stat_result | None

    def finish(self) -> None:
        """Copy the old permissions, then replace the target, or wait for the other files of the group."""
        if self.old is not None:
            _take_over(self.place, self.old)
        waiting = _group.get()
        if waiting is None:
            self.replace()
        else:
            waiting.append(self)

    def replace(self) -> None:
        """Rename the draft to its target, which is atomic."""
        with _as_output_error(self.named, self.old is not None):
            if os.name == "nt" and self.old is not None and stat.S_ISDIR(self.old.st_mode):
                os.rmdir(self.target)  # Windows cannot rename to an existing folder
            os.replace(self.place, self.target)
        _sync_folder(self.target.parent)

    def remove(self) -> None:
        """Delete the draft, unless it was already renamed."""
        with suppress(OSError):
            if self.place.is_dir() and not self.place.is_symlink():
                shutil.rmtree(self.place, ignore_errors=True)
            else:
                os.unlink(self.place)


#: Completed drafts of the open `together` block.
_group: ContextVar[list[_Draft] | None] = ContextVar("eigenspan_outputs", default=None)


@contextmanager
def _kept_or_removed(draft: _Draft) -> Iterator[None]:
    """Remove the draft if the block fails. The draft is created inside the block, so that a signal cannot leave it behind."""
    try:
        yield
    except _NameTakenError as failure:
        raise _unwritable(draft.named, failure) from failure
    except BaseException:
        draft.remove()
        raise


class _NameTakenError(FileExistsError):
    """The name of the draft is already taken by another file, which must not be removed."""


class _Raw(io.FileIO):
    """Unbuffered file that raises OutputError with the name that the user gave if it cannot be written.

    `kept` is as in `_as_output_error`; `allowed` errors pass unchanged; `mode` is that of a new file, before the umask.
    """

    def __init__(
        self,
        place: Path,
        named: Path,
        how: str,
        kept: bool | None,
        allowed: tuple[type[OSError], ...] = (),
        mode: int = 0o666,
    ) -> None:
        def opener(name: str, flags: int) -> int:
            number = _descriptor(Path(name))
            if number is not None:
                return os.dup(number)  # reopening /dev/stdout would overwrite its file from the start
            return os.open(name, flags | (getattr(os, "O_NOFOLLOW", 0) if "x" in how else 0), mode)

        self._as_output_error = partial(_as_output_error, named, kept, allowed)
        with _as_output_error(named, kept, (*allowed, FileExistsError)):
            try:
                super().__init__(str(place), how, opener=opener)
            except FileExistsError as failure:
                raise _NameTakenError(*failure.args) from failure

    def write(self, data: Any, /) -> int:
        with self._as_output_error():
            return super().write(data)

    @contextmanager
    def buffered(self, *, sync: bool = True) -> Iterator[IO[bytes]]:
        """Yield a buffered file. On success it is flushed to the disk; after an error the buffer is discarded."""
        file: Any = io.BufferedRandom(self, _BUFFER) if self.readable() else io.BufferedWriter(self, _BUFFER)
        try:
            yield file
            file.flush()
            with self._as_output_error():
                if sync:
                    _sync(self.fileno())
                self.close()
        finally:
            with suppress(OSError):
                self.close()


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file that a name such as ``/dev/stdout`` or ``/dev/fd/3`` refers to."""
    found = _DESCRIPTOR.fullmatch(os.fspath(path))
    return None if found is None else _STREAMS.get(found[1]) or int(found[2] or 0)


def _draft_name(target: Path) -> Path:
    start = target.name.encode("utf-8", "ignore")[:_NAMED].decode("utf-8", "ignore")
    return target.with_name(f".{start}.{secrets.token_hex(8)}.part")


def _resolved(path: Path) -> tuple[Path, os.stat_result | None]:
    """Return the target with links resolved and the status of an existing file; raise OutputError if the target cannot be written."""
    target = Path(os.path.realpath(path))
    old = _stat(target)
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise OutputError(f"{str(path)!r} is a folder: name a file instead.")
    if old is not None and not stat.S_ISREG(old.st_mode):  # as root, the rename would replace /dev/null
        raise OutputError(f"{str(path)!r} has become a device or a pipe: name a file instead.")
    _check_parent(target)
    if old is not None and not os.access(target, os.W_OK):
        raise _unwritable(path, PermissionError(errno.EACCES, "the file is write-protected"), True)
    return target, old


def _check_parent(target: Path) -> None:
    if not target.parent.is_dir():
        raise OutputError(f"There is no folder {str(target.parent)!r} to write {target.name!r} to: create it first.")


def _stat(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as failure:
        raise _unwritable(path, failure) from failure
    except ValueError as failure:
        raise OutputError(f"{str(path)!r} is not a valid file name: {failure}.") from failure


def _take_over(draft: Path, old: os.stat_result) -> None:
    """Copy owner, group and permissions of the old file to the draft, if permitted."""
    with suppress(OSError):
        new = os.stat(draft)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.chown(draft, old.st_uid, old.st_gid)
    with suppress(OSError):
        os.chmod(draft, old.st_mode & 0o777)


def _sync(descriptor: int) -> None:
    """Wait until a file is on the disk: without that, a renamed file could be empty after a power failure."""
    try:
        os.fsync(descriptor)
    except OSError as failure:
        if failure.errno not in _NO_FSYNC:
            raise


def _sync_folder(folder: Path) -> None:
    """Make a rename durable if folders can be opened (not on Windows). The files are complete in either case."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---------------------------------------------------------------------- messages
@contextmanager
def _as_output_error(path: Path, kept: bool | None = None, allowed: tuple[type[OSError], ...] = ()) -> Iterator[None]:
    """Turn errors of the operating system into OutputError, except `allowed` ones.

    `kept` states whether there is an old file, which stays unchanged; with None the message does not mention it.
    """
    try:
        yield
    except OSError as failure:
        if isinstance(failure, (OutputError, *allowed)):
            raise
        raise _unwritable(path, failure, kept) from failure


def _unwritable(path: Path, failure: OSError, kept: bool | None = None) -> OutputError:
    """Return an error that says what cannot be written, why, whether an old file is unchanged, and what to do."""
    why = (failure.strerror or str(failure)).rstrip(".")
    remains = {True: " The old file is unchanged.", False: " Nothing was written.", None: ""}[kept]
    advice = _ADVICE.get(failure.errno or 0, "Choose another folder or name.")
    error = OutputError(f"{str(path)!r} cannot be written: {why}.{remains} {advice}")
    error.errno = failure.errno
    return error
