"""Rules of the architecture, checked on the source text: the order of the rooms, and where certain code may be."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import eigenspan
from grouping import in_one_test

ROOT = Path(eigenspan.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: A room may import from itself and from those before it; rooms on one line do not import from each other.
ORDER = [
    {"errors", "_types"},
    {"_compat", "_diagnostics"},
    {"_parameters", "_descriptions", "_documented"},
    {"_checks", "_docstrings"},
    {"numerics"},
    {"_files"},
    {"data"},
    {"graphs"},
    {"problem"},
    {"forms"},
    {"methods"},
    {"selection", "learning"},
    {"quality", "dimension", "theory", "models", "interop"},
    {"plotting"},
    {"report"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
#: The order inside a room. Modules that are not named here belong to the part "".
PARTS = {
    "numerics": [
        "memory threads operators",
        "jit",
        "small_matrices ranks",
        "factor",
        "eigen",
        "paths descent nearest",
        "sdp",
    ],
    "data": ["rows", ""],
    "graphs": ["landmarks", "neighbours", "class_graphs weights", "distributed", "sample_graph"],
    "problem": ["", "forms", "extensions"],
    "methods": [
        "base",
        "variance distances laplacian reconstruction alignment discriminant two_views unfolding external",
        "",
    ],
}
#: Families that import from other families, and the parts of these that they may import.
BUILDS_ON = {
    "semi_supervised": {"discriminant", "distances", "unfolding", "laplacian"},
    "sufficient": {"discriminant", "laplacian"},
    "discriminant": {"two_views"},
    "unfolding": {"two_views"},
    "reconstruction": {"laplacian"},
    "alignment": {"reconstruction"},
}
#: Imports inside functions that may point the other way: the `plot` methods of results, and completion of docstrings.
SIDEWAYS = {
    ("quality", "plotting"),
    ("dimension", "plotting"),
    ("theory", "plotting"),
    ("quality", "report"),
    ("_documented", "_docstrings"),
}
EIGEN = re.compile(r"\b(eigsh?|eigh|lobpcg|svds|eigvals|eigvalsh|svd|svdvals)\s*\(")
#: Code lines of a function with its signature, and of one that poses a problem. Compiled loops may be longer.
LONGEST, LONGEST_POSE = 40, 16
#: Decorators of compiled loops.
COMPILED = {"compiled", "inlined", "summed"}
#: Functions that are longer, with their present sizes, which may only decrease; none may be added.
LONG = {
    "cli/options.py:preparing": 41,
    "methods/discriminant/lda.py:_pose_shrunk": 18,
    "methods/variance/oriented_pca.py:_pose": 18,
    "report/comparison_report.py:report_of": 43,
}

files = in_one_test(FILES, lambda path: str(path.relative_to(ROOT)))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _package(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def _targets(path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield ``(module of eigenspan in parts, line)`` of every import, including those inside functions."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = inside[: len(inside) - node.level] if node.level <= len(inside) else ()
            target = (*base, *(node.module.split(".") if node.module else []))
            for found in [target] if target else [(alias.name,) for alias in node.names]:
                yield found, node.lineno
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for first, *rest in [name.split(".") for name in names]:
                if first == "eigenspan":
                    yield tuple(rest) or ("eigenspan",), node.lineno


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    for target, line in _targets(path):
        yield target[0], line


def test_the_order_names_the_rooms_that_exist() -> None:
    there = {path.relative_to(ROOT).with_suffix("").parts[0] for path in FILES}
    assert there - {"__init__", "__main__"} == set(LEVEL)


def test_module_names_are_unique() -> None:
    names = Counter(path.stem if path.stem != "__init__" else path.parent.name for path in FILES)
    # `eigenspan.forms` offers what `eigenspan.problem.forms` holds
    assert [name for name, count in names.items() if count > 1 and name not in ("__main__", "forms")] == []


@files
def test_imports_point_one_way(path: Path) -> None:
    here = _package(path)
    if here == "__init__" or here == "__main__":
        return
    assert here in LEVEL, f"{here} has no place in the order of the layers"
    for there, line in _imports(path):
        if there == here or (here, there) in SIDEWAYS:
            continue
        if there not in LEVEL:  # the top level: only the product around the library may use the public names
            assert LEVEL[here] > LEVEL["methods"], f"line {line} imports {there}"
            continue
        assert LEVEL[there] < LEVEL[here], f"line {line} imports {there}, which lies above {here}"


def _part(room: str, parts: tuple[str, ...]) -> str:
    """Return the part of a room that a module belongs to."""
    named = " ".join(PARTS[room]).split()
    return parts[1] if len(parts) > 1 and parts[1] in named else ""


def _rank(room: str, part: str) -> int:
    """Return the position of a part in the order of its room; the last one for a part that is not named."""
    return next(
        (level for level, names in enumerate(PARTS[room]) if part in names.split() or (not part and not names)), 99
    )


@pytest.mark.parametrize("room", [room for room in PARTS if room != "methods"])
def test_parts_of_a_room_import_one_way(room: str) -> None:
    wrong = []
    for path in sorted((ROOT / room).rglob("*.py")):
        inside = path.relative_to(ROOT).with_suffix("").parts
        if inside[1] == "__init__":
            continue
        here = _part(room, inside)
        for target, line in _targets(path):
            there = _part(room, target) if target[0] == room and len(target) > 1 else here
            if there != here and _rank(room, there) >= _rank(room, here):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {'.'.join(target)}")
    assert wrong == []


def test_families_of_methods_import_one_way() -> None:
    wrong = []
    for path in sorted((ROOT / "methods").rglob("*.py")):
        inside = path.relative_to(ROOT / "methods").with_suffix("").parts
        if len(inside) == 1:  # the registry and the wrappers around all families
            continue
        for target, line in _targets(path):
            there = target[1] if target[0] == "methods" and len(target) > 1 else inside[0]
            if there not in {inside[0], "base"} | BUILDS_ON.get(inside[0], set()):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {'.'.join(target)}")
    assert wrong == []


def _code_lines(text: str) -> set[int]:
    """Return the numbers of the lines with code: no docstrings, comments or blank lines."""
    alone = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    strings = [node for node in alone if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    prose = {line for node in strings for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    no_code = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    spans = [(each.start[0], each.end[0]) for each in tokens if tokenize.tok_name[each.type] not in no_code]
    return {line for first, last in spans for line in range(first, last + 1)} - prose


def _too_long(name: str, text: str) -> list[str]:
    """Return the functions of a file that are longer than CONTRIBUTING allows, from `def` to the last line."""
    code: set[int] = set()
    wrong = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if any(isinstance(mark, ast.Name) and mark.id in COMPILED for mark in node.decorator_list):
            continue
        limit = LONGEST_POSE if node.name.startswith("_pose") else LONGEST
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if len(lines) <= limit:
            continue
        code = code or _code_lines(text)
        size = len(code.intersection(lines))
        if size > LONG.get(f"{name}:{node.name}", limit):
            wrong.append(f"{node.name} (line {node.lineno}): {size} code lines, at most {limit}")
    return wrong


@files
def test_functions_are_short(path: Path) -> None:
    assert _too_long(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) == []


def test_the_limits_of_functions_are_exact() -> None:
    lines = [f"    x{i} = {i}" for i in range(LONGEST - 2)]
    text = "\n".join(["def f(", "    a):", '    """Prose."""', "", "    # a comment", *lines])
    assert _too_long("any.py", text) == []
    assert _too_long("any.py", text + "\n    return a") == ["f (line 1): 41 code lines, at most 40"]
    pose = "\n".join(["def _pose_all(a):", *lines[:LONGEST_POSE]])
    assert _too_long("any.py", pose) == ["_pose_all (line 1): 17 code lines, at most 16"]
    assert _too_long("any.py", "@compiled\n" + text + "\n    return a") == []
    assert LONG.keys() <= {f"{path.relative_to(ROOT).as_posix()}:{name}" for path in FILES for name in _names(path)}


def _names(path: Path) -> set[str]:
    return {node.name for node in ast.walk(_tree(path)) if isinstance(node, ast.FunctionDef)}


@files
def test_eigensolvers_are_called_in_numerics_only(path: Path) -> None:
    if _package(path) == "numerics":
        return
    code = _without_strings(path)
    called = [match.group() for match in EIGEN.finditer(code)]
    assert not called, f"{called}: call `eigenpairs` of numerics/eigen/dense.py or a solver of numerics/eigen/ instead"


@files
def test_private_names_of_scikit_learn_are_used_in_compat_only(path: Path) -> None:
    if path.name == "_compat.py":
        return
    for node in ast.walk(_tree(path)):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "sklearn"
            and not node.level
        ):
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            assert not [name for name in names if name.startswith("_")], f"line {node.lineno}"


@files
def test_no_todo_comments(path: Path) -> None:
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", path.read_text(encoding="utf-8"))


def _without_strings(path: Path) -> str:
    """Return the source with the contents of strings removed, because prose may mention eigh()."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(_tree(path)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.end_lineno is not None
            and node.end_lineno > node.lineno
        ):
            for number in range(node.lineno - 1, node.end_lineno):
                lines[number] = ""
    return "\n".join(line.split("  # ")[0] for line in lines)


def test_violations_are_found(tmp_path: Path) -> None:
    """Check that the expressions above match violations."""
    for call in ("la.eigh(A)", "np.linalg.svd(X)", "eigsh (A, 2)", "scipy.linalg.eigvals(M)"):
        assert EIGEN.search(call)
    for other in ("np.linalg.norm(X)", "eigenpairs(A)", "self.eigenvalues_(x)", "weigh(d)"):
        assert not EIGEN.search(other)
    found = {there for there, _ in _imports(ROOT / "methods" / "reconstruction" / "lle.py")}
    assert {"problem", "errors", "methods", "data"} <= found


# ---------------------------------------------------------------------- the estimator layer
def _compared_with(path: Path, word: str) -> list[int]:
    """Return the numbers of the lines that compare something with this word."""
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            words = [part for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)]
            found += [node.lineno for part in words if part.value == word]
    return found


@files
def test_only_data_checks_for_precomputed(path: Path) -> None:
    """X is classified as points or pairs when it is read; other rooms use the type of the result."""
    if path == ROOT / "data" / "read.py":
        assert _compared_with(path, "precomputed")
        return
    assert _compared_with(path, "precomputed") == []


def _reducers() -> list[type]:
    import eigenspan.methods.base.contract as base

    found, todo = [], [base.Reducer]
    while todo:
        cls = todo.pop()
        found.append(cls)
        todo += [sub for sub in cls.__subclasses__() if sub.__module__.startswith("eigenspan.")]
    parents = [parent for cls in found for parent in cls.__mro__ if parent.__module__.startswith("eigenspan.")]
    return list(dict.fromkeys(parents))


@in_one_test(_reducers(), lambda cls: cls.__name__)
def test_only_one_place_sets_fitted_attributes(cls: type) -> None:
    """Attributes are set by the constructor, and after a fit in one place."""
    import inspect
    import textwrap

    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    for method in [node for node in body.body if isinstance(node, ast.FunctionDef)]:
        assert method.name != "__getattr__"
        if method.name in ("__init__", "__init_subclass__") or (cls.__name__, method.name) == ("Reducer", "_set"):
            continue
        for node in ast.walk(method):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [getattr(node, "target", None)]
            for target in [part for whole in targets if whole is not None for part in ast.walk(whole)]:
                planted = isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self"
                assert not planted, f"{cls.__name__}.{method.name} plants {ast.unparse(target)}"
            if isinstance(node, ast.Call):
                assert getattr(node.func, "id", "") not in ("setattr", "delattr"), f"{cls.__name__}.{method.name}"
                assert "__dict__" not in ast.unparse(node.func)
