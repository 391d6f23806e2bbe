"""Model files written by earlier versions: every method and every kind of object must load in all later versions."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
import sklearn

import crafted_models
import eigenspan as es
import tampering
from eigenspan.errors import ModelWarning
from eigenspan.methods.registry import all_rows
from eigenspan.models import describe
from eigenspan.models.archive import OBJECTS
from eigenspan.models.schema import kinds
from golden_models import new_rows, places, specifications, templates
from model_files import entries

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.eig"))
MODELS = [path for path in FILES if not path.stem.startswith("spec ")]
#: Kinds without a golden file: they need an extra package, a table of the command line, or out-of-memory rows.
ELSEWHERE = {
    "search.hnsw", "table", "rows.nystrom", "moments.slices", "finder.none", "weights.paths", "merges", "pairs.gaussian",
    "sparse.coo_array", "sparse.csc_matrix",
}  # fmt: skip


def stored_kinds(path: Path) -> dict[str, int]:
    return json.loads(entries(path.read_bytes())[OBJECTS])["kinds"]


def _of_a_later_scikit_learn(path: Path) -> bool:
    saved = describe(path)["versions"]["scikit-learn"]
    return tuple(map(int, saved.split(".")[:2])) > tuple(map(int, sklearn.__version__.split(".")[:2]))


@pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_golden_models_transform_as_before(path: Path) -> None:
    if any(kind.startswith("sklearn.") for kind in stored_kinds(path)) and _of_a_later_scikit_learn(path):
        pytest.skip("holds estimators of a later scikit-learn")
    expected = np.load(path.with_suffix(".npy"))
    found = places(es.load(path), new_rows(path.stem))
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", sorted(specifications()))
def test_specifications_keep_their_parameters(name: str) -> None:
    made, loaded = specifications()[name], es.load(FOLDER / f"{name}.eig")
    assert type(loaded) is type(made)
    assert loaded.get_params() == made.get_params()


def test_every_method_and_kind_has_a_golden_file() -> None:
    assert {row.name for row in all_rows() if row.family != "custom"} <= {path.stem for path in FILES}
    assert {*templates(), *specifications()} == {path.stem for path in FILES}
    stored = {kind for path in FILES for kind in stored_kinds(path)}
    assert kinds().keys() - stored == ELSEWHERE


def test_every_dataclass_field_is_in_its_kind() -> None:
    """Every field of a stored dataclass must be a field of its kind."""
    stored = [kind for kind in kinds().values() if is_dataclass(kind.cls)]
    assert len(stored) > 40
    assert {k.name: {f.name for f in fields(k.cls) if f.init} - k.fields.keys() for k in stored} == {
        k.name: set() for k in stored
    }


def test_forms_of_the_first_version_are_migrated() -> None:
    path = FOLDER / "LLE.eig"
    assert stored_kinds(path)["form"] == 1
    assert es.load(path).problem_.A.needs == "connected"


def test_golden_files_load_without_warnings(recwarn: pytest.WarningsRecorder) -> None:
    for path in FILES:
        if not any(kind.startswith("sklearn.") for kind in stored_kinds(path)):
            es.load(path)
    assert [warning for warning in recwarn if issubclass(warning.category, ModelWarning)] == []


def test_format_page_lists_every_kind() -> None:
    """``python docs/_site/model_format.py`` regenerates the tables."""
    root = Path(__file__).parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("model_format", root / "_site" / "model_format.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.tables() in (root / "model-format.md").read_text(encoding="utf-8")


# ---------------------------------------------------------------------- tampered and crafted files
@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the golden models, and rows to transform with each, to a temporary folder."""
    later = [
        p for p in MODELS if any(k.startswith("sklearn.") for k in stored_kinds(p)) and _of_a_later_scikit_learn(p)
    ]
    return tampering.with_rows([path for path in MODELS if path not in later], tmp_path_factory.mktemp("golden"))


@pytest.mark.skipif(not hasattr(tampering.signal, "SIGALRM"), reason="limits of POSIX")
def test_tampered_files_stay_within_limits(folder: Path) -> None:
    """``python tests/support/tampering.py`` tries many more files."""
    outcomes, report = tampering.run(folder, 400)
    beyond = [
        line for line in report.read_text().splitlines() if any(w in line for w in ("BEYOND", "UNCAUGHT", "CRASH"))
    ]
    assert beyond == []
    assert outcomes["refused"] > 200
    assert outcomes["used"] > 20


@pytest.mark.skipif(not hasattr(tampering.signal, "SIGALRM"), reason="limits of POSIX")
def test_crafted_files_are_harmless(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "crafted"
    target.mkdir()
    crafted_models.make(FOLDER, target)
    report = tmp_path / "report.txt"
    assert tampering.alone(folder, "--crafted", target, report) == 0
    found = dict(line.split(" = ") for line in report.read_text().splitlines())
    assert len(found) >= 30
    harmless = {what[3:]: outcome for what, outcome in found.items() if outcome != "refused"}
    assert {outcome.split(":")[0] for outcome in harmless.values()} <= {"used", "unusable"}
    expected = {
        "a sparse row of 2^40 columns",  # in a parameter that only a fit would read
        "steps without end",
        "clusters without end",
        "more neighbours than rows",
        "a distance without end",
    }
    assert harmless.keys() == expected & {what[3:] for what in found}  # models of a later scikit-learn are left out
