"""The documentation is complete, its code runs, and its links are valid."""

import inspect
import re
import shlex

import pytest
from click.testing import CliRunner
from sklearn.base import TransformerMixin

import eigenspan
from eigenspan import dimension, errors, forms, models, plotting, quality, report
from eigenspan.cli import main
from grouping import in_one_test
from helpers import ROOT

WRITTEN = [page for page in (ROOT / "docs").rglob("*.md") if page.relative_to(ROOT / "docs").parts[0] != "site"]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN])
#: Pages whose code runs for several seconds.
SLOW = {
    "dimension.md", "geodesics.md", "labels.md", "pictures.md", "plotting.md", "probabilistic.md", "quality.md", "theorems.md",
    "tutorial.md", "unfolding.md",
}  # fmt: skip
MODULES = {
    "eigenspan": eigenspan,
    "eigenspan.dimension": dimension,
    "eigenspan.forms": forms,
    "eigenspan.quality": quality,
    "eigenspan.plotting": plotting,
    "eigenspan.models": models,
    "eigenspan.report": report,
}
NAMES = [(module, name) for module, contents in MODULES.items() for name in contents.__all__]
RAISED = [name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)]


def public(module, name):
    return getattr(MODULES[module], name)


def is_estimator(thing):
    return inspect.isclass(thing) and issubclass(thing, TransformerMixin)


def blocks(path):
    """Yield the code to run: Python blocks, and the lines of consoles that begin with "$ eigenspan"."""
    found = re.findall(r"^```(python|console)\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [(kind, text) for kind, text in found if kind == "python" or "$ eigenspan" in text]


def run_command(line):
    """Run a line of a console and check its exit code: 0, or that of a comment "# exit code 3"."""
    expected = line.partition("# exit code ")[2]
    done = CliRunner().invoke(main, shlex.split(line, comments=True)[2:])
    assert done.exit_code == int(expected or 0), f"{line}\n{done.output}"


@in_one_test(NAMES)
def test_every_public_name_has_a_docstring(pair):
    module, name = pair
    thing = public(module, name)
    assert inspect.getdoc(thing), name
    if is_estimator(thing) or inspect.isfunction(thing) or hasattr(thing, "get_params"):
        assert re.search(r"^ *Examples\n *-{8}", thing.__doc__, re.MULTILINE), name
        assert ">>>" in thing.__doc__, name


@in_one_test([pair for pair in NAMES if is_estimator(public(*pair))])
def test_every_parameter_of_an_estimator_is_documented(pair):
    module, name = pair
    thing = public(module, name)
    parameters = thing.__doc__.split("Parameters\n")[1].split("Examples\n")[0]
    for parameter in inspect.signature(thing).parameters:
        assert re.search(rf"^ *(\w+, )*{parameter}(, \w+)* :", parameters, re.MULTILINE), f"{name}.{parameter}"


def test_every_public_name_is_in_the_api_page():
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(name for _, name in NAMES)


@in_one_test(RAISED)
def test_every_error_and_warning_is_explained(name):
    assert f"| `{name}` |" in (ROOT / "docs" / "bad-input.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    # test_recipes runs the code of CONTRIBUTING, and removes the methods and weights that it registers
    [
        pytest.param(page, marks=[pytest.mark.long] * (page.name in SLOW))
        for page in PAGES
        if blocks(page) and page.name != "CONTRIBUTING.md"
    ],
    ids=lambda path: path.name,
)
def test_the_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for kind, block in blocks(page):
        if kind == "python":
            exec(compile(block, page.name, "exec"), namespace)
        else:
            for line in block.splitlines():
                run_command(line)


@in_one_test(PAGES, lambda path: path.name)
def test_links_are_valid(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_method_is_in_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in eigenspan.methods().itertuples():
        if row.family != "external":
            assert f"`{row.Index}`" in text, row.Index


def test_the_changelog_has_this_version():
    assert eigenspan.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {eigenspan.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
