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
    {"_checks"},
    {"compiled"},
    {"solvers"},
    {"graphs"},
    {"core"},
    {"forms"},
    {"extend"},
    {"methods"},
    {"quality", "datasets", "dimension", "theory", "plotting", "report"},
    {"distributed", "explore"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
#: The tables of estimators and figures are what these show; they may look sideways.
SIDEWAYS = {
    ("plotting", "quality"),
    ("report", "quality"),
    ("report", "plotting"),
    ("report", "datasets"),
    ("report", "dimension"),
}
EIGEN = re.compile(r"\b(eigsh?|eigh|lobpcg|svds|eigvals|eigvalsh|svd|svdvals)\s*\(")

files = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


def _package(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    """``(package of eigenspan, line)`` of every import, also those inside functions."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = inside[: len(inside) - node.level] if node.level <= len(inside) else ()
                target = [*base, *(node.module.split(".") if node.module else [])]
                for name in [target[0]] if target else [alias.name for alias in node.names]:
                    yield name, node.lineno
            elif node.module and node.module.split(".")[0] == "eigenspan":
                parts = node.module.split(".")
                yield (parts[1] if len(parts) > 1 else "eigenspan"), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "eigenspan":
                    yield (parts[1] if len(parts) > 1 else "eigenspan"), node.lineno


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
    found = {there for there, _ in _imports(ROOT / "methods" / "pca.py")}
    assert {"core", "errors", "methods", "forms"} <= found
