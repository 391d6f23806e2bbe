"""The documentation site: every page is in a section, every name in the reference, and every example is a page."""

import ast
import importlib
import sys

import pytest

import eigenspan
from helpers import ROOT

sys.path.insert(0, str(ROOT / "docs"))
examples, pages, reference = (importlib.import_module(f"_site.{name}") for name in ("examples", "pages", "reference"))


def sections():
    return pages.sections((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))


def test_every_page_is_in_one_section():
    listed = [name for _, names in sections().values() for name in names]
    written = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if path.relative_to(ROOT / "docs").parts[0] != "site"
    }
    assert sorted(listed) == sorted(written - {"index"})


def test_a_section_has_its_pages_as_children(tmp_path):
    (tmp_path / "index.md").write_text("# A\n\n## Part one\n\n| [B](b.md) | x |\n| [C](d/c.md) and [B](b.md) | y |\n")
    pages.write_sections(tmp_path)
    text = (tmp_path / "site" / "part-one.md").read_text(encoding="utf-8")
    assert "[B](../b.md)" in text
    assert text.endswith("```{toctree}\n:hidden:\n\n/b\n/d/c\n```\n")


def test_the_docstring_of_the_package_groups_every_public_name():
    grouped = [name for _, _, names in reference.groups() for name in names]
    assert sorted(grouped) == sorted(eigenspan.__all__)


def test_the_reference_has_every_public_name():
    entries = {line.strip().lstrip("~") for line in reference.text().splitlines() if line.startswith("   ")}
    wanted = {target.rpartition(".")[2] for target in reference.places().values()}
    assert wanted <= {entry.rpartition(".")[2] for entry in entries}
    assert reference.places()["LPP"] == "eigenspan.LPP"
    assert reference.places()["RidgeWarning"] == "eigenspan.errors.RidgeWarning"


@pytest.mark.parametrize("kind", ["base", "class"])
def test_pages_of_names_hold_what_people_call_them(kind):
    jinja2 = pytest.importorskip("jinja2")
    engine = jinja2.Environment()
    engine.filters |= {"escape": str, "underline": lambda text: f"{text}\n{'=' * len(text)}"}
    template = engine.from_string((ROOT / "docs" / "_templates" / "autosummary" / f"{kind}.rst").read_text())
    about = {"module": "eigenspan", "objtype": "function", "known_as": reference.known_as()}
    page = template.render(objname="NPP", **about).splitlines()
    assert page[:2] == ["NPP", "==="]
    assert page[-5] == ""
    assert page[-4].startswith(
        "Known as: Neighbourhood preserving projections, npe, neighbourhood preserving embedding, linear LLE, supervised NPP, "
    )
    assert page[-3:-1] == ["", ".. meta::"]
    assert {"Neighborhood", "neighborhood"} <= set(page[-1].split())
    assert "Known as" not in template.render(objname="save", **about)
    assert "Correlation dimension" in about["known_as"]["intrinsic_dimension"]


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_becomes_a_page(script):
    text = examples.staged(script, ROOT / "docs")
    title, line = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert set(line) == {"="}
    assert 0 < len(title) <= len(line) <= 120
    code = ast.parse(script.read_text(encoding="utf-8")).body[1:]
    assert [ast.dump(part) for part in ast.parse(text).body[1:]] == [ast.dump(part) for part in code]


def test_examples_that_are_run_exist():
    assert all((ROOT / "examples" / f"{name}.py").is_file() for name in examples.RUN)


def test_names_of_other_packages_are_not_linked():
    for text in ("LPP", "LPP(2)", "es.LPP(2).fit(X)", "eigenspan.quality.stress", "errors.RidgeWarning"):
        assert reference.NAME.fullmatch(text)[1] in reference.places()
    for text in ("np.load", "joblib.load(path)", "make gallery", "n_components", "LPP and more"):
        match = reference.NAME.fullmatch(text)
        assert match is None or match[1] not in reference.places()
