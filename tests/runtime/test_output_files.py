"""`eigenspan._files`: drafts, links, permissions, groups and messages."""

from __future__ import annotations

import errno
import io
import os
import secrets
import signal
import stat
import tempfile
import zipfile
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import eigenspan as es
from eigenspan._files import (
    Memory,
    copy_of_stream,
    is_draft,
    is_special,
    make_folder,
    together,
    writing,
    writing_folder,
)
from eigenspan.cli.signals import ended_like_ctrl_c
from eigenspan.errors import EigenspanError, ModelError, OutputError
from eigenspan.report import Report

posix = pytest.mark.skipif(os.name == "nt", reason="modes, links and devices of POSIX")


def put(path: Path, data: bytes = b"new") -> None:
    with writing(path) as file:
        file.write(data)


# ---------------------------------------------------------------------- drafts
def test_draft_is_hidden_and_old_file_is_kept_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    with writing(path) as file:
        file.write(b"new")
        file.flush()
        (draft,) = set(os.listdir(tmp_path)) - {"a.csv"}
        assert file.name == str(tmp_path / draft)
        assert draft.startswith(".a.csv.")
        assert is_draft(Path(draft))
        assert path.read_bytes() == b"old"
        file.seek(0)
        assert file.read() == b"new"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.csv"]
    assert not is_draft(path)


@pytest.mark.parametrize("failure", [ValueError("no"), KeyboardInterrupt(), SystemExit(3), OSError(5, "of the block")])
def test_errors_of_the_block_propagate_and_the_draft_is_removed(failure: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(type(failure)) as raised, writing(path) as file:
        file.write(b"new" * 100_000)
        raise failure
    assert raised.value is failure
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_buffer_is_discarded_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr("eigenspan._files._Raw.write", lambda _, data: written.append(bytes(data)) or len(data))
    with pytest.raises(KeyboardInterrupt), writing(tmp_path / "a") as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert written == []
    put(tmp_path / "a")
    assert written == [b"new"]


def test_truncated_archive_is_collected_without_warning() -> None:
    """The garbage collector closes files and archives of a cycle in any order; warnings about that fail this test."""
    memory = Memory()
    archive = zipfile.ZipFile(memory, "w")
    archive.writestr("a", b"x")
    memory.close()  # as the garbage collector does
    archive.close()
    assert zipfile.is_zipfile(memory)


def test_draft_names_are_unique_and_short_enough(tmp_path: Path) -> None:
    path, names = tmp_path / ("é" * 120), []
    for _ in range(2):
        with writing(path) as file:
            names.append(Path(file.name).name)
    assert len({*names}) == 2
    assert all(len(name.encode()) < 255 for name in names)
    with writing(tmp_path / "a") as one, writing(tmp_path / "a") as other:
        one.write(b"one")
        other.write(b"other")
    assert (tmp_path / "a").read_bytes() == b"one"  # the write that finished last


def test_threads_write_complete_files(tmp_path: Path) -> None:
    threads = [Thread(target=put, args=(tmp_path / "a", bytes([i]) * 300_000)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = (tmp_path / "a").read_bytes()
    assert len(found) == 300_000
    assert len({*found}) == 1
    assert os.listdir(tmp_path) == ["a"]


# ---------------------------------------------------------------------- links and permissions
@posix
def test_symbolic_links_are_resolved_and_kept(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    target, link = tmp_path / "deep" / "real.csv", tmp_path / "latest.csv"
    link.symlink_to(target)
    for data in (b"made", b"replaced"):  # for the first, the link has no target yet
        put(link, data)
        assert link.is_symlink()
        assert target.read_bytes() == data
    assert os.listdir(tmp_path / "deep") == ["real.csv"]
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OutputError, match="Too many levels of symbolic links"):
        put(tmp_path / "loop")


@posix
def test_a_hard_link_keeps_the_old_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    os.link(tmp_path / "a", tmp_path / "b")
    put(tmp_path / "a")
    assert (tmp_path / "b").read_bytes() == b"old"


@posix
def test_planted_symbolic_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    for planted, target in ((".a.guessed.part", victim), (".b.guessed.part", tmp_path / "absent")):
        (tmp_path / planted).symlink_to(target)
        with pytest.raises(OutputError, match="File exists"):
            put(tmp_path / planted[1])
        assert (tmp_path / planted).is_symlink()  # the planted link is not removed
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "absent").exists()
    monkeypatch.undo()
    (tmp_path / "r.html.part").symlink_to(victim)
    Report("r", {"X": np.eye(3)[:, :2]}).write(tmp_path / "r.html")
    assert victim.read_bytes() == b"precious"


@posix
def test_permissions(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        put(tmp_path / "a")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
        for mode in (0o600, 0o664, 0o755):
            (tmp_path / "a").chmod(mode)
            with writing(tmp_path / "a") as file:
                drafted = stat.S_IMODE(os.stat(file.name).st_mode)
                assert not drafted & ~mode & 0o077, "others may read a draft of what they may not read"
            assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode
    finally:
        os.umask(mask)


def test_write_protected_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.eig"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match=r"a\.eig' cannot be written: the file is write-protected\. The old file is"):
        put(path)
    with pytest.raises(ModelError, match="write-protected"):
        es.save(es.PCA(2), path)
    assert path.read_bytes() == b"old"


# ---------------------------------------------------------------------- special files
@posix
def test_devices_pipes_and_open_files_are_written_directly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, special in (("/dev/null", True), ("/dev/stdout", True), ("/dev/fd/1", True), (tmp_path, False)):
        assert is_special(Path(name)) is special
    outer, inner = os.openpty()  # a device that cannot be replaced even if this test fails
    for path in (Path(os.ttyname(inner)), tmp_path / "link"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(os.ttyname(inner))
        put(path)
        assert os.read(outer, 9) == b"new"
    os.close(inner), os.close(outer)
    if Path("/dev/full").exists() and os.geteuid():  # root could replace it
        with pytest.raises(
            OutputError, match=r"'/dev/full' cannot be written: No space left on device\. Free some space"
        ):
            put(Path("/dev/full"))
    reading, number = os.pipe()
    put(Path(f"/dev/fd/{number}"))
    assert os.read(reading, 9) == b"new"
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        put(Path(f"/dev/fd/{number}"))
    os.close(number)
    with open(tmp_path / "file", "w+b", buffering=0) as file:
        file.write(b"before ")
        put(Path(f"/dev/fd/{file.fileno()}"))
        file.write(b" after")
    assert (tmp_path / "file").read_bytes() == b"before new after"


@posix
def test_devices_are_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setattr("eigenspan._files.is_special", lambda _: False)  # as if the device had appeared after the check
    with pytest.raises(OutputError, match="has become a device or a pipe"):
        put(tmp_path / "fifo")
    assert (tmp_path / "fifo").is_fifo()


# ---------------------------------------------------------------------- folders and groups
def test_a_folder_appears_with_all_its_files(tmp_path: Path) -> None:
    path = tmp_path / "parts"
    with writing_folder(path) as folder:
        for name in "ab":
            with folder.open(name) as file:
                file.write(name.encode())
        assert not path.exists()
    assert sorted(os.listdir(path)) == ["a", "b"]
    with pytest.raises(OutputError, match="already contains files"), writing_folder(path):
        pass
    with pytest.raises(OutputError, match="is a file"), writing_folder(path / "a"):
        pass
    with pytest.raises(OutputError, match="There is no folder"), writing_folder(tmp_path / "x" / "y"):
        pass
    with pytest.raises(KeyboardInterrupt), writing_folder(tmp_path / "other") as folder, folder.open("a"):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["parts"]


def test_folder_filled_during_writing_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "parts"
    path.mkdir()
    with pytest.raises(OutputError, match="The folder is no longer empty"), writing_folder(path):
        (path / "a").write_bytes(b"old")
    assert os.listdir(tmp_path) == ["parts"]
    assert (path / "a").read_bytes() == b"old"


def test_together_replaces_all_files_or_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with together():
        put(tmp_path / "a")
        with together(), writing_folder(tmp_path / "f") as folder, folder.open("x"):
            pass
        assert (tmp_path / "a").read_bytes() == b"old"
        assert not (tmp_path / "f").exists()
    assert (tmp_path / "a").read_bytes() == b"new"
    with pytest.raises(SystemExit), together():
        put(tmp_path / "a", b"newer")
        put(tmp_path / "b", b"newer")
        raise SystemExit
    assert (tmp_path / "a").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["a", "f"]


# ---------------------------------------------------------------------- messages
def test_invalid_targets_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, words in (
        (tmp_path, "is a folder: name a file instead"),
        (tmp_path / "absent" / "a", "There is no folder .*absent.* to write 'a' to: create it first"),
        (tmp_path / "file" / "a", "There is no folder"),
        (tmp_path / ("n" * 300), "cannot be written: File name too long.* Choose a shorter name"),
        (tmp_path / "a\0b", "is not a valid file name"),
    ):
        with pytest.raises(OutputError, match=words) as raised:
            put(path)
        assert isinstance(raised.value, EigenspanError | OSError)
    with pytest.raises(OutputError, match="cannot be written"):
        make_folder(tmp_path / "file")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left on device. The old file is unchanged. Free some space"),
        (errno.EDQUOT, "The old file is unchanged. Free some space within your quota"),
        (errno.EROFS, "read-only: choose another folder"),
        (errno.EIO, "The old file is unchanged. Choose another folder or name"),
        (errno.EINVAL, None),
        (errno.ENOTSUP, None),
    ],
)
def test_fsync_failures(number: int, words: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems without fsync are accepted; other errors are reported, with the state of the old file."""
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    if words is None:
        put(path)
        assert path.read_bytes() == b"new"
        return
    with pytest.raises(OutputError, match=words) as raised:
        put(path)
    assert raised.value.errno == number
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


# ---------------------------------------------------------------------- copies of pipes
def test_copies_of_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = copy_of_stream(io.BytesIO(b"x" * 300_000), "stdin")
    assert path.read_bytes() == b"x" * 300_000
    if os.name != "nt":
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    before = os.listdir(tmp_path)
    real = io.FileIO.write
    monkeypatch.setattr("eigenspan._files._Raw.write", lambda self, data: full(self, real, data))
    with pytest.raises(OutputError, match=r"No space left on device.*Or set TMPDIR to a folder with more space"):
        copy_of_stream(io.BytesIO(b"x" * 300_000), "stdin")
    assert os.listdir(tmp_path) == before


def full(raw: Any, write: Any, data: Any) -> int:
    """Simulate a disk with room for a few bytes."""
    with raw._as_output_error():
        write(raw, data[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---------------------------------------------------------------------- signals
@posix
def test_signals_end_a_command_like_ctrl_c() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        cleaned = []
        before = signal.signal(number, signal.SIG_DFL)  # it is ignored if nohup started the tests
        try:
            with pytest.raises(SystemExit) as raised, ended_like_ctrl_c():
                try:
                    signal.raise_signal(number)
                except KeyboardInterrupt:
                    cleaned.append(number)
            assert signal.getsignal(number) is signal.SIG_DFL
        finally:
            signal.signal(number, before)
        assert cleaned == [number]
        assert raised.value.code == 128 + number


@posix
def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with ended_like_ctrl_c():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_are_not_changed_in_other_threads() -> None:
    seen = []

    def work() -> None:
        with ended_like_ctrl_c():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]
