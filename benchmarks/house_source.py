"""Count properties of the source text and of the classes of the library, for `benchmarks.house`.

The docstring of every function states what it counts. Nothing is fitted.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import eigenspan

from . import ROOT as CHECKOUT

ROOT = Path(eigenspan.__file__).parent

#: The rooms (top-level packages and modules) of the library from the lowest to the highest; those of one line are on one level.
#: A call from one level to a later one is an upward call. After a move of modules, change this table and the line below it.
ROOMS = (
    "errors _types",
    "_compat _diagnostics",
    "_parameters",
    "_docstrings _documented _descriptions",
    "_checks",
    "numerics",
    "_files",
    "data",
    "graphs",
    "problem",
    "forms",
    "methods",
    "selection learning",
    "quality dimension theory models interop",
    "plotting",
    "report",
    "cli __init__ __main__",
)
#: The highest rooms whose code is counted as the engine, the room that reads X and y, and that of the methods.
TOP_OF_ENGINE, INPUT, METHODS = "selection", "data", "methods"
#: Modules that only check parameters, limit threads and memory, or record times: steps through them are not counted.
PLUMBING = re.compile(r"_\w+\.py|numerics/(memory|threads)\.py")
#: Functions that decide by where the rows are stored, or state a problem for one storage: earlier names, and those of today.
ROW_HOOKS = {
    "_needs_rows", "_pose_scatters", "_fit_sums", "_pose_lazily", "_fit_lazily", "_check_scatters", "_given_laplacian", "_sums_of",
    "reads_once", "_elsewhere", "is_tall", "_in_blocks", "rows_needed_by", "_from_sums", "_moments_from_sums", "by_landmarks",
    "over_given_graph", "_averages_by_landmarks",
}  # fmt: skip
#: Parameters of declarations that do the same.
ROW_DECLARATIONS = frozenset({"one_pass", "blocks", "from_sums"})
#: Words in code about rows that are lazy or on disk.
ROW_WORDS = re.compile(r"lazy|on_disk|memmap|[Dd]ask")
#: Statements of a problem for rows in memory, and for another storage.
IN_MEMORY, OTHER_STORAGE = ("_pose", "_pose_graph"), ("_pose_scatters", "_pose_lazily", "_fit_sums")
#: Declaration of the type of a fitted attribute: documentation for type checkers.
ATTRIBUTE = re.compile(r"\s+\w+_: .+ = attribute\(\)")
#: Modules that define the same functions for two technologies. Their names are not counted as repeated if the parameters agree too.
TWINS = {"numerics/nearest/compiled_loops.py", "numerics/nearest/numpy_loops.py"}
#: Folder of calls that a type checker must reject, one on each line that ends with the comment.
WRONG_CALLS, WRONG = CHECKOUT / "tests" / "project" / "wrong_calls", "# wrong"

LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names.split()}
#: Rooms of the engine: all packages up to the highest; private modules and the errors are not counted.
ENGINE = {
    name for name, level in LEVEL.items() if level <= LEVEL[TOP_OF_ENGINE] and name[0] != "_" and name != "errors"
}


def room_of(path: str | Path) -> str:
    """The room of a file of the library."""
    return Path(path).relative_to(ROOT).parts[0].removesuffix(".py")


def level_of(path: str | Path) -> int:
    """The place of a file's room in `ROOMS`."""
    room = room_of(path)
    if room not in LEVEL:
        raise LookupError(f"{room!r} has no place in ROOMS ({__file__}): add it to the line of its level.")
    return LEVEL[room]


@dataclass(frozen=True, eq=False)
class Module:
    """A source file."""

    path: Path
    text: str

    @property
    def room(self) -> str:
        return room_of(self.path)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def docstring_lines(self) -> set[int]:
        """Line numbers of docstrings and other strings that are statements."""
        alone = [node.value for node in ast.walk(self.tree) if isinstance(node, ast.Expr)]
        texts = [node for node in alone if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        return {line for node in texts for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}

    @cached_property
    def code_lines(self) -> set[int]:
        """Line numbers of code: blank lines, comments, docstrings and declared types of fitted attributes are left out."""
        skipped = {
            tokenize.COMMENT,
            tokenize.NL,
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.ENDMARKER,
        }
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        found = {
            line for token in tokens if token.type not in skipped for line in range(token.start[0], token.end[0] + 1)
        }
        lines = list(enumerate(self.text.splitlines(), 1))
        left_out = {number for number, line in lines if not line.strip() or ATTRIBUTE.match(line)}
        return found - self.docstring_lines - left_out

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


@cache
def modules() -> tuple[Module, ...]:
    """All source files of the library."""
    return tuple(Module(path, path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py")))


def engine() -> list[Module]:
    return [module for module in modules() if module.room in ENGINE]


def in_room(room: str) -> list[Module]:
    return [module for module in modules() if module.room == room]


# ---------------------------------------------------------------------- text
def code_lines() -> int:
    """Lines of code of the engine."""
    return sum(len(module.code_lines) for module in engine())


def longest_functions(count: int = 5) -> list[tuple[int, str]]:
    """The functions of the engine with most lines of code, including nested functions; compiled loops are left out."""
    found = []
    for module in engine():
        for node in module.functions():
            if not any("jit" in ast.unparse(mark) or "compiled" in ast.unparse(mark) for mark in node.decorator_list):
                lines = module.code_lines.intersection(range(node.lineno, (node.end_lineno or node.lineno) + 1))
                found.append((len(lines), f"{module.path.relative_to(ROOT)}:{node.name}"))
    return sorted(found, reverse=True)[:count]


def shared_parameter_lines() -> int:
    """Lines of docstrings that only name a shared parameter, ``$name``."""
    return sum(bool(re.fullmatch(r"\s*\$\w+\s*", line)) for module in modules() for line in module.text.splitlines())


def repeated_module_names() -> dict[str, int]:
    """File names that several modules of the engine share, with their numbers."""
    names = Counter(module.path.stem for module in engine() if not module.path.stem.startswith("__"))
    return {name: count for name, count in names.items() if count > 1}


def repeated_public_names() -> dict[str, list[str]]:
    """Functions and classes without a leading underscore that several modules of the engine define under one name.

    A function that all modules of `TWINS`, and no others, define with the same parameters is left out.
    """
    homes: dict[str, dict[str, str]] = {}
    for module in engine():
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                parameters = [each.arg for each in node.args.args] if isinstance(node, ast.FunctionDef) else "class"
                homes.setdefault(node.name, {})[module.path.relative_to(ROOT).as_posix()] = str(parameters)
    twins = {name for name, found in homes.items() if found.keys() == TWINS and len(set(found.values())) == 1}
    return {name: list(found) for name, found in homes.items() if len(found) > 1 and name not in twins}


def exported_twice() -> list[str]:
    """Names in ``__all__`` of two or more packages, not counting that of the library itself."""
    lists = [
        ast.literal_eval(node.value)
        for module in modules()
        if module.path.name == "__init__.py" and module.path.parent != ROOT
        for node in module.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    counts = Counter(name for names in lists for name in names)
    return sorted(name for name, count in counts.items() if count > 1)


# ---------------------------------------------------------------------- types
def any_share(among: list[Module]) -> float:
    """Share of the signatures, including nested functions, with `Any` in the annotation of a parameter or of the result."""
    signatures = [_annotations(node) for module in among for node in module.functions()]
    return sum(any(_has_any(each) for each in signature) for signature in signatures) / max(len(signatures), 1)


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    found = [argument.annotation for argument in every if argument is not None]
    return [annotation for annotation in [*found, node.returns] if annotation is not None]


def _has_any(annotation: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


def wrong_calls() -> tuple[int, int] | None:
    """Wrong calls in `WRONG_CALLS` that mypy reports, and their total; None if the folder does not exist or is empty.

    A line that ends with ``# wrong`` is one call; a file without such lines counts as one call.
    """
    files = sorted(WRONG_CALLS.rglob("*.py")) if WRONG_CALLS.exists() else []
    if not files:
        return None
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-color-output", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT)
    errors = {(Path(m[1]).name, int(m[2])) for m in re.finditer(r"^(.+?\.py):(\d+).*: error:", done.stdout, re.M)}
    caught = total = 0
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()
        marked = {(path.name, number) for number, line in enumerate(lines, 1) if line.rstrip().endswith(WRONG)}
        total += len(marked) or 1
        caught += len(marked & errors) if marked else any(name == path.name for name, _ in errors)
    return caught, total


# ---------------------------------------------------------------------- classes
@cache
def methods() -> tuple[type, ...]:
    """The library's own estimators in `eigenspan.methods`."""
    return tuple(getattr(eigenspan, name) for name in eigenspan.methods().index if hasattr(eigenspan, name))


def own_classes(cls: type) -> list[type]:
    """The class itself and its base classes in the library."""
    return [base for base in cls.__mro__ if base.__module__.split(".")[0] == eigenspan.__name__]


def base_classes() -> tuple[float, int]:
    """Median and maximum over the methods of the number of `own_classes`."""
    counts = [len(own_classes(cls)) for cls in methods()]
    return statistics.median(counts), max(counts)


def hooks() -> dict[str, int]:
    """Functions and properties ``_name`` that three or more of the methods and their base classes define, with their numbers."""
    every = {base for cls in methods() for base in own_classes(cls)}
    names = Counter(name for cls in every for name, value in vars(cls).items() if _is_hook(name, value))
    return {name: count for name, count in names.items() if count >= 3}


def _is_hook(name: str, value: Any) -> bool:
    kinds = property | classmethod | staticmethod
    return (
        name.startswith("_") and not name.startswith("__") and (inspect.isfunction(value) or isinstance(value, kinds))
    )


def stated_twice() -> list[str]:
    """Methods that state their problem for rows in memory (`IN_MEMORY`) and again for another storage (`OTHER_STORAGE`)."""
    return [
        cls.__name__
        for cls in methods()
        if any(_states(cls, name) for name in IN_MEMORY) and any(_states(cls, name) for name in OTHER_STORAGE)
    ]


def _states(cls: type, name: str) -> bool:
    """Whether the class has this hook and it does not only raise NotImplementedError."""
    hook = getattr(cls, name, None)
    return hook is not None and "NotImplementedError" not in hook.__code__.co_names


# ---------------------------------------------------------------------- where the rows are stored
def row_hooks() -> Counter[str]:
    """Definitions of the functions in `ROW_HOOKS`."""
    return Counter(node.name for module in modules() for node in module.functions() if node.name in ROW_HOOKS)


def row_declarations() -> int:
    """Calls in `METHODS` that pass a parameter of `ROW_DECLARATIONS`."""
    calls = [node for module in in_room(METHODS) for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    return sum(keyword.arg in ROW_DECLARATIONS for call in calls for keyword in call.keywords)


def row_lines() -> int:
    """Lines of code in `METHODS` that match `ROW_WORDS`."""
    return sum(
        bool(ROW_WORDS.search(line))
        for module in in_room(METHODS)
        for number, line in enumerate(module.text.splitlines(), 1)
        if number in module.code_lines
    )


def method_files() -> tuple[int, int]:
    """Files of `METHODS` that define a method of the table, and the others."""
    homes = {inspect.getsourcefile(cls) for cls in methods()}
    estimators = [str(module.path) in homes for module in in_room(METHODS)]
    return sum(estimators), len(estimators) - sum(estimators)
