"""Randomly changed model files with a correct checksum, loaded and used in a process with limits of memory and time.

``python tests/support/tampering.py tests/models/golden --count 10000`` changes the golden models. Every file is loaded and, if that
succeeds, maps new points. Allowed are a `ModelError`, a result, or a Python exception when the model is used. Not allowed are more than
200 MB or 10 seconds, the end of the process, and calls that start a program, open a socket or unpickle.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

MEMORY, SECONDS = 200 * 2**20, 10
#: Audit events that no model may cause.
_FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class", "socket.")
EXTREMES = [
    0,
    -1,
    1,
    2,
    3,
    7,
    2**15,
    2**31 - 1,
    2**31,
    2**53,
    2**63,
    -(2**63),
    10**30,
    0.0,
    -1.5,
    1e-320,
    1e308,
    -1e308,
    True,
    False,
]
ODD = [
    None,
    "",
    "x",
    "euclidean",
    [],
    [[]],
    {"float": "nan"},
    {"float": "inf"},
    {"tuple": []},
    {"dict": []},
    {"array": 0},
    {"ref": 0},
]


# ---------------------------------------------------------------------- changes
def tampered(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with one to three random changes of its objects or arrays."""
    from eigenspan.models.archive import OBJECTS
    from model_files import entries, forged

    parts = entries(whole)
    objects = json.loads(parts[OBJECTS])
    arrays: dict[str, bytes] = {}
    for _ in range(rng.integers(1, 4)):
        with suppress(TypeError, KeyError, IndexError, ValueError):  # impossible after an earlier change
            _CHANGES[rng.integers(len(_CHANGES))](objects, parts, arrays, rng)
    return forged(whole, objects, **arrays)


def _spot(objects: Any, rng: np.random.Generator, wanted: Any) -> Any:
    from model_files import spots

    found = [(holder, key) for holder, key in spots(objects) if wanted(holder[key])]
    return found[rng.integers(len(found))] if found else None


def _exchange(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    (holder, key), (other, there) = (_spot(objects, rng, lambda _: True) for _ in range(2))
    holder[key] = json.loads(json.dumps(other[there]))


def _number(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    spot = _spot(objects, rng, lambda value: isinstance(value, int | float))
    if spot:
        spot[0][spot[1]] = EXTREMES[rng.integers(len(EXTREMES))]


def _other(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    holder, key = _spot(objects["objects"], rng, lambda _: True)
    holder[key] = ODD[rng.integers(len(ODD))]


def _reference(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    kind = ("array", "ref")[rng.integers(2)]
    spot = _spot(objects, rng, lambda value: isinstance(value, dict) and kind in value)
    if spot:
        count = len(objects["arrays"] if kind == "array" else objects["objects"])
        spot[0][spot[1]] = {kind: int(rng.integers(count))}


def _shape(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    layout = objects["arrays"][rng.integers(len(objects["arrays"]))]
    size = int(np.prod(layout[1]))
    choices = [layout[1][::-1], [size], [1, size], [size, 1], [size, 1, 1], [0, 10**12], [2**40, 0]]
    layout[1] = choices[rng.integers(len(choices))]


def _type(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    layout = objects["arrays"][rng.integers(len(objects["arrays"]))]
    layout[0] = ["<f8", "<i8", "<u8", ">f8", "<c16", "<U2", "<M8[s]", "<f4", "|b1", "|S8", "<U0"][rng.integers(11)]


def _contents(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    place = int(rng.integers(len(objects["arrays"])))
    name = f"{place}.npy"
    raw = bytearray(arrays.get(name, parts[name]))
    start = 10 + int.from_bytes(raw[8:10], "little")
    for _ in range(rng.integers(1, 9)):
        if len(raw) - start >= 8:
            at = start + 8 * int(rng.integers((len(raw) - start) // 8))
            floats = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0]).view("<u8")
            whole = np.array([-1, 2**62, -(2**63), 10**6, 2**31], dtype="<i8").view("<u8")
            raw[at : at + 8] = rng.choice(np.concatenate([floats, whole])).tobytes()
    arrays[name] = bytes(raw)


def _drop(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    spot = _spot(objects["objects"], rng, lambda _: True)
    del spot[0][spot[1]]


def _kind(objects: Any, parts: Any, arrays: Any, rng: Any) -> None:
    from eigenspan.models.schema import kinds

    names = sorted(kinds())
    objects["objects"][rng.integers(len(objects["objects"]))]["kind"] = names[rng.integers(len(names))]


_CHANGES = [
    _exchange,
    _number,
    _number,
    _number,
    _other,
    _reference,
    _reference,
    _shape,
    _type,
    _contents,
    _contents,
    _drop,
    _kind,
]


# ---------------------------------------------------------------------- use
def used(path: Path, rows: Any) -> str:
    """Return the outcome of loading this file and mapping these rows."""
    import eigenspan as es
    from eigenspan.errors import ModelError

    try:
        model = es.load(path)
    except ModelError:
        return "refused"
    for verb in ("transform", "predict", "decision_function", "inverse_transform", "score_samples"):
        if hasattr(model, verb):
            try:
                X = model.embedding_[:2] if verb == "inverse_transform" else rows
                getattr(model, verb)(X)
            except MemoryError:
                raise
            except TimeoutError:
                raise
            except Exception as failure:
                return f"unusable: {type(failure).__name__}"
    return "used"


class _Caught(BaseException):
    """A call that no model may cause."""


def _watch() -> Any:
    on = [False]

    def hook(event: str, arguments: Any) -> None:
        if on[0] and event.startswith(_FORBIDDEN):
            raise _Caught(event)

    sys.addaudithook(hook)
    return on


def _alarm(*_: Any) -> None:
    raise TimeoutError


def limited(load: Any, watch: Any) -> str:
    """Run ``load()`` within the limits and return the violated limit in one word."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(SECONDS)
    watch[0] = True
    try:
        return load()
    except TimeoutError:
        return "BEYOND: time"
    except MemoryError:
        return "BEYOND: memory"
    except _Caught as call:
        return f"BEYOND: {call}"
    except Exception as failure:
        return f"UNCAUGHT: {type(failure).__name__}: {failure!s:.100}"
    finally:
        watch[0] = False
        signal.alarm(0)


def limit_memory() -> None:
    """Limit the memory that the process may allocate from now on."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def work(folder: Path, first: int, last: int, report: Path) -> None:
    """Change and use the files number `first` to `last`, and record each before and after."""
    warnings.simplefilter("ignore")
    models = sorted(folder.glob("*.eig"))
    wholes, rows = [path.read_bytes() for path in models], pickle.loads((folder / "rows.pkl").read_bytes())
    for path in models:  # finish late imports and compilation
        used(path, rows[path.stem])
    watch, spot = _watch(), Path(tempfile.mkdtemp()) / "tampered.eig"
    limit_memory()
    with report.open("a") as lines:
        for number in range(first, last):
            which = number % len(models)
            print(number, end=" ", file=lines, flush=True)
            content = tampered(wholes[which], np.random.default_rng(number))
            spot.write_bytes(content)
            found = limited(lambda which=which: used(spot, rows[models[which].stem]), watch)
            print(models[which].stem.replace(" ", "-"), found, file=lines, flush=True)


def use_all(folder: Path, crafted: Path, report: Path) -> None:
    """Load and use crafted files, of the models in the folder; a text file for each names its original model."""
    warnings.simplefilter("ignore")
    rows = pickle.loads((folder / "rows.pkl").read_bytes())
    original = {path: path.with_suffix(".txt").read_text() for path in sorted(crafted.glob("*.eig"))}
    paths = [path for path, name in original.items() if name in rows]
    assert paths, "no crafted file is of a model in the folder"
    names = [original[path] for path in paths]
    for name in {*names}:
        used(folder / f"{name}.eig", rows[name])
    watch = _watch()
    limit_memory()
    with report.open("a") as lines:
        for path, name in zip(paths, names, strict=True):
            print(path.stem, end=" = ", file=lines, flush=True)
            print(limited(lambda path=path, name=name: used(path, rows[name]), watch), file=lines, flush=True)


def with_rows(models: list[Path], target: Path) -> Path:
    """Copy golden models to a folder, and write the rows that each of them will transform."""
    from golden_models import new_rows

    for path in models:
        shutil.copy(path, target)
    (target / "rows.pkl").write_bytes(pickle.dumps({path.stem: new_rows(path.stem) for path in models}))
    return target


def alone(*arguments: Any) -> int:
    """Run this module in a single-threaded process and return its exit status."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MALLOC_ARENA_MAX"), "1")
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **threads}, check=False).returncode


def run(folder: Path, count: int, first: int = 0) -> tuple[Counter[str], Path]:
    """Return the outcomes of `count` files in separate processes, and the file that lists them."""
    report = Path(tempfile.mkdtemp()) / "report.txt"
    report.touch()
    done = first
    while done < first + count:
        ended = alone(folder, "--work", done, first + count, report)
        lines = report.read_text().splitlines()
        done = first + len(lines)
        if ended and not (lines and len(lines[-1].split()) == 1):
            raise RuntimeError(f"the process ended with {ended} while no file was in use")
        if ended:
            with report.open("a") as file:
                print(f"? CRASH: {ended}", file=file)
    return Counter(" ".join(line.split()[2:]) for line in report.read_text().splitlines()), report


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--crafted", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.crafted:
        use_all(given.folder, Path(given.crafted[0]), Path(given.crafted[1]))
    elif given.work:
        work(given.folder, int(given.work[0]), int(given.work[1]), Path(given.work[2]))
    else:
        plain = [path for path in sorted(given.folder.glob("*.eig")) if not path.stem.startswith("spec ")]
        ready = (given.folder / "rows.pkl").exists()
        folder = given.folder if ready else with_rows(plain, Path(tempfile.mkdtemp()))
        counts, where = run(folder, given.count, given.first)
        for outcome, times in counts.most_common():
            print(f"{times:7d}  {outcome}")
        print(where)
        sys.exit(any(outcome.isupper() or outcome.split(":")[0].isupper() for outcome in counts))
