"""Mutation testing: change one operator, constant or call at a time, and see whether a test fails.

``python tests/mutate.py core forms graphs methods --count 60 --seed 0 --out mutants.jsonl`` draws 60 mutants of these packages. The
sources are copied to a temporary directory; the checkout is not touched. Tests run in stages, each until its first failure: the files
that name the changed module, the folder of tests of its package, tests/whole, then all others. Every mutant adds a line to the report,
and a second call with the same report continues where the first one stopped.

Tests that are marked `long` run with ``--all`` only. ``--all --survivors mutants.jsonl --out all.jsonl`` runs them for the mutants that the
default run did not notice: those that are killed then are what the default run loses.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SOURCES = ROOT / "src"
#: Test folders that are left out: they need a browser, or run examples.
LEFT_OUT = {"browser", "examples", "sklearn_suites", "support"}
#: The arguments by which pytest runs the tests marked `long` too.
EVERY = ("-m", "")
#: Exit statuses of pytest without a failure: all passed, and none is selected.
PASSED = (0, 5)

SWAPPED: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,), ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,), ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
OPPOSITE = {"min": "max", "argmin": "argmax", "minimum": "maximum", "any": "all", "floor": "ceil", "nanmin": "nanmax"}
OPPOSITE |= {there: here for here, there in OPPOSITE.items()}


@dataclass(frozen=True)
class Mutant:
    """One change of one file of the sources; `start` and `end` are bytes."""

    file: str
    line: int
    start: int
    end: int
    kind: str
    before: str
    after: str

    @property
    def id(self) -> str:
        return f"{self.file}:{self.start}:{self.end}:{self.after}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]


# ---------------------------------------------------------------------- drawing
def mutants(path: Path) -> list[Mutant]:
    """All mutants of a file, in the order of its text."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in _code(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        for kind, changed in _changes(node):
            after = "pass" if isinstance(changed, ast.Pass) else f"({ast.unparse(changed)})"
            before = " ".join(source[start:end].decode().split())
            found.append(Mutant(path.relative_to(SOURCES).as_posix(), node.lineno, start, end, kind, before, after))
    return found


def _code(node: ast.AST) -> Iterator[Any]:
    """The nodes of statements and expressions, without annotations, decorators, strings and error messages."""
    left_out = {"annotation", "returns", "decorator_list"}
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or name in left_out or isinstance(child, ast.JoinedStr | ast.Import):
                continue
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and child.name.startswith("__repr"):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            yield from _code(child)


def _changes(node: Any) -> Iterator[tuple[str, ast.AST]]:
    """The changes that a node allows, each a node in its place."""

    def but(**fields: Any) -> Any:
        changed = copy.deepcopy(node)
        for name, value in fields.items():
            setattr(changed, name, value)
        return changed

    match node:
        case ast.Compare(ops=[operator]):
            yield from (("comparison", but(ops=[other()])) for other in SWAPPED[type(operator)])
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            yield from (("operator", but(op=other())) for other in SWAPPED.get(type(operator), ()))
            if isinstance(node, ast.BinOp) and isinstance(operator, ast.Add | ast.Sub):
                yield "dropped term", node.left
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "dropped sign", node.operand
        case ast.Constant(value=bool() as value):
            yield "constant", but(value=not value)
        case ast.Constant(value=int() as value):
            yield from (("constant", but(value=value + step)) for step in (1, -1))
        case ast.Constant(value=float() as value):
            yield from (("constant", but(value=value * factor)) for factor in (2.0, 0.5))
        case ast.IfExp():
            yield "swapped branches", but(body=node.orelse, orelse=node.body)
        case ast.Expr(value=ast.Call()):
            yield "removed call", ast.Pass()
        case ast.Call(func=ast.Name(id=name) as called) if name in OPPOSITE:
            yield "opposite function", but(func=ast.Name(OPPOSITE[called.id]))
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in OPPOSITE:
            yield "opposite function", but(func=ast.Attribute(called.value, OPPOSITE[name]))
        case ast.Subscript(slice=ast.Slice() as cut):
            for end in ("lower", "upper"):
                if getattr(cut, end) is not None:
                    moved = ast.Slice(cut.lower, cut.upper, cut.step)
                    setattr(moved, end, ast.BinOp(getattr(cut, end), ast.Add(), ast.Constant(1)))
                    yield "slice", but(slice=moved)


def draw(packages: list[str], count: int, seed: int) -> list[Mutant]:
    """A sample without repetition of mutants that compile, as many of each kind as there are."""
    files = [path for name in packages for path in sorted((SOURCES / "eigenspan" / name).rglob("*.py"))]
    every = [mutant for path in files for mutant in mutants(path)]
    random.Random(seed).shuffle(every)
    turn: Counter[str] = Counter()
    ordered = []
    for mutant in every:
        turn[mutant.kind] += 1
        ordered.append((turn[mutant.kind], mutant))
    ordered.sort(key=lambda pair: pair[0])
    return list(islice((mutant for _, mutant in ordered if _is_change(mutant)), count))


def _is_change(mutant: Mutant) -> bool:
    """Whether the mutant compiles without a warning (a number has no entries, say) and is not what it was."""
    source = (SOURCES / mutant.file).read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compile(mutant.applied(source), mutant.file, "exec")
        except (SyntaxError, SyntaxWarning):
            return False
    return ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))


# ---------------------------------------------------------------------- running
def stages(mutant: Mutant) -> list[list[Path]]:
    """Test files by how likely they are to notice a change: those that name the module or its classes, its package's, whole, others."""
    files = [path for path in sorted(TESTS.rglob("test_*.py")) if not LEFT_OUT & set(path.relative_to(TESTS).parts)]
    *folder, module = Path(mutant.file).with_suffix("").parts[1:]
    package = r"\.".join(["eigenspan", *folder])
    tree = ast.parse((SOURCES / mutant.file).read_bytes())
    classes = [rf"\b{node.name}\b" for node in tree.body if isinstance(node, ast.ClassDef)]
    nested = [rf"\b{package}\b"] if len(folder) > 1 else []
    named = re.compile(
        "|".join([rf"\b{package}\.{module}\b", rf"from {package} import .*\b{module}\b", *nested, *classes])
    )
    rules: list[Callable[[Path], bool]] = [
        lambda path: bool(named.search(path.read_text(encoding="utf-8"))) and path.parent != TESTS / "whole",
        lambda path: path.is_relative_to(TESTS / (folder[0] if folder else "whole")),
        lambda path: path.parent == TESTS / "whole",
        lambda path: True,
    ]
    found: list[list[Path]] = []
    for rule in rules:
        shared = {path: len({*folder} & {*path.relative_to(TESTS).parts}) for path in files if rule(path)}
        found.append(sorted(shared, key=lambda path: -shared[path]))  # those of the module's own folder first
        files = [path for path in files if path not in shared]
    return [stage for stage in found if stage]


def judge(mutant: Mutant, sources: Path, limit: float, last: int, every: bool = False) -> dict[str, Any]:
    """Run the stages on the changed copy until a test fails, and restore it. `every`: with the tests marked `long`."""
    file, begin = sources / mutant.file, time.monotonic()
    original, stamp = file.read_bytes(), file.stat()
    file.write_bytes(mutant.applied(original))
    outcome: dict[str, Any] = {"outcome": "survived"}
    try:
        for number, tests in enumerate(stages(mutant)[:last], 1):
            left = limit - (time.monotonic() - begin)
            code, said = _pytest([*(EVERY if every else ()), *tests], sources, left) if left > 0 else (None, "")
            if code not in PASSED:
                failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
                outcome = {"outcome": "timed out" if code is None else "killed", "stage": number}
                outcome["by"] = failed.group(1) if failed else said[-300:]
                break
    finally:
        file.write_bytes(original)
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # caches of compiled loops look at it
    if (
        outcome["outcome"] == "killed"
        and "::" in outcome["by"]
        and _pytest([*EVERY, outcome["by"]], sources, limit)[0] != 0
    ):
        outcome["outcome"] = "unclear"  # the test fails without the mutant too
    return outcome | {"seconds": round(time.monotonic() - begin, 1)}


def _pytest(tests: Sequence[Path | str], sources: Path, seconds: float) -> tuple[int | None, str]:
    """Exit status and output of the tests with these sources; None after `seconds`."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
    path = os.pathsep.join([str(sources), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            [*command, *map(str, tests)],
            env={**os.environ, "PYTHONPATH": path, "CI": "1"},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = child.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = None
        said.seek(0)
        return code, said.read()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", help="folders of src/eigenspan, such as problem or numerics/nearest")
    parser.add_argument("--count", type=int, default=20, help="mutants to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds per mutant")
    parser.add_argument("--stages", type=int, default=4, help="stages of tests to run, at most")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"), help="report, one JSON object per line")
    parser.add_argument("--all", action="store_true", help="run the tests marked long too")
    parser.add_argument("--survivors", type=Path, help="only the mutants that survived or timed out in this report")
    given = parser.parse_args()
    lines = given.out.read_text(encoding="utf-8").splitlines() if given.out.exists() else []
    done = {json.loads(line)["id"] for line in lines}
    drawn = draw(given.packages, given.count, given.seed)
    if given.survivors is not None:
        records = map(json.loads, given.survivors.read_text(encoding="utf-8").splitlines())
        alive = {record["id"] for record in records if record["outcome"] in ("survived", "timed out")}
        drawn = [mutant for mutant in drawn if mutant.id in alive]
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(shutil.copytree(SOURCES, Path(folder) / "src"))
        for mutant in drawn:
            if mutant.id in done:
                continue
            record = {"id": mutant.id, **asdict(mutant), **judge(mutant, sources, given.limit, given.stages, given.all)}
            with given.out.open("a", encoding="utf-8") as report:
                report.write(json.dumps(record, ensure_ascii=False) + "\n")
            print(f"{record['outcome']:9} {mutant.file}:{mutant.line} {mutant.before} -> {mutant.after}", flush=True)
    found = [json.loads(line) for line in given.out.read_text(encoding="utf-8").splitlines()]
    print(
        *(f"{sum(r['outcome'] == o for r in found)} {o}" for o in ("killed", "survived", "timed out", "unclear")),
        sep=", ",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
