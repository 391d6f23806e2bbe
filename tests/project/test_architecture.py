"""The layers, and the one home of each thing, enforced on the source text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import eigenspan

ROOT = Path(eigenspan.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: A package may import from itself and from those before it; those on one line not from each other.
ORDER = [
    {"errors"},
    {"_compat", "_csgraph", "_resources", "_diagnostics"},
    {"_files"},
    {"_parameters"},
    {"_checks"},
    {"compiled"},
    {"solvers"},
    {"graphs"},
    {"input"},
    {"core"},
    {"forms"},
    {"extend"},
    {"methods"},
    {"selection", "learning"},
    {"quality", "datasets", "dimension", "theory", "models", "interop"},
    {"plotting"},
    {"report"},
    {"distributed", "explore"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
#: Results draw themselves: their `plot` imports the pictures when called, which import the measures.
SIDEWAYS = {("quality", "plotting"), ("dimension", "plotting"), ("theory", "plotting"), ("quality", "report")}
EIGEN = re.compile(r"\b(eigsh?|eigh|lobpcg|svds|eigvals|eigvalsh|svd|svdvals)\s*\(")

files = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


def _package(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def _targets(path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """``(module of eigenspan in parts, line)`` of every import, also those inside functions."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


@files
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


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


#: The rooms of `graphs`, in the same way.
ROOMS = {
    name: level
    for level, names in enumerate(["search", "landmarks", "neighbours", "labels weights", "shards"])
    for name in names.split()
}


@pytest.mark.parametrize(
    "path", sorted({*(ROOT / "graphs").rglob("*.py")} - {ROOT / "graphs" / "__init__.py"}), ids=lambda p: p.stem
)
def test_rooms_of_graphs_look_one_way(path: Path) -> None:
    here = path.relative_to(ROOT).with_suffix("").parts[1]
    for there, line in [(target[1], line) for target, line in _targets(path) if target[0] == "graphs"]:
        assert there == here or ROOMS[there] < ROOMS[here], f"line {line} imports {there}, which lies above {here}"


@files
def test_eigensolvers_are_called_in_solvers_only(path: Path) -> None:
    if _package(path) == "solvers":
        return
    code = _without_strings(path)
    assert [match.group() for match in EIGEN.finditer(code)] == []


@files
def test_private_scikit_learn_lives_in_compat(path: Path) -> None:
    if path.name == "_compat.py":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "sklearn"
            and not node.level
        ):
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            assert not [name for name in names if name.startswith("_")], f"line {node.lineno}"


@files
def test_nothing_is_left_to_do(path: Path) -> None:
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", path.read_text(encoding="utf-8"))


def _without_strings(path: Path) -> str:
    """The source with docstrings and other strings blanked: prose may name eigh()."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.end_lineno is not None
            and node.end_lineno > node.lineno
        ):
            for number in range(node.lineno - 1, node.end_lineno):
                lines[number] = ""
    return "\n".join(line.split("  # ")[0] for line in lines)


def test_the_rules_bite(tmp_path: Path) -> None:
    """The expressions above find what they are for."""
    for call in ("la.eigh(A)", "np.linalg.svd(X)", "eigsh (A, 2)", "scipy.linalg.eigvals(M)"):
        assert EIGEN.search(call)
    for other in ("np.linalg.norm(X)", "eigenpairs(A)", "self.eigenvalues_(x)", "weigh(d)"):
        assert not EIGEN.search(other)
    found = {there for there, _ in _imports(ROOT / "methods" / "reconstruction.py")}
    assert {"core", "errors", "methods", "forms"} <= found


# ---------------------------------------------------------------------- the estimator layer
def _compared_with(path: Path, word: str) -> list[int]:
    """Lines that compare something with this word."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            words = [part for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)]
            found += [node.lineno for part in words if part.value == word]
    return found


@files
def test_what_x_holds_is_asked_once(path: Path) -> None:
    """Where X is read it is told whether it holds points or pairs; below, the types of what was read know it."""
    if path == ROOT / "input" / "read.py":
        assert _compared_with(path, "precomputed")
        return
    assert _compared_with(path, "precomputed") == []


def _reducers() -> list[type]:
    import eigenspan.methods.base as base

    found, todo = [], [base.Reducer]
    while todo:
        cls = todo.pop()
        found.append(cls)
        todo += [sub for sub in cls.__subclasses__() if sub.__module__.startswith("eigenspan.")]
    parents = [parent for cls in found for parent in cls.__mro__ if parent.__module__.startswith("eigenspan.")]
    return list(dict.fromkeys(parents))


@pytest.mark.parametrize("cls", _reducers(), ids=lambda cls: cls.__name__)
def test_a_fit_returns_and_does_not_plant(cls: type) -> None:
    """Attributes are set by the constructor and, of a fit that is done, in one place."""
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
