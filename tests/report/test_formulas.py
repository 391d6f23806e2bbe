"""Parsing and rendering of formulas in docstrings."""

from __future__ import annotations

import inspect
import re
import xml.etree.ElementTree as ET

import pytest

from eigenspan.errors import InputError
from eigenspan.methods.registry import all_rows
from eigenspan.report.formulas import formulas_of, readable, to_mathml, to_unicode
from eigenspan.report.latex import parse

#: `External` has the problem of the estimator inside.
OWN = [method for method in all_rows() if method.own and method.name != "External"]
#: Allowed content of MathML elements: "text", or a number of children.
CHILDREN = {"msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3, "mfrac": 2, "msqrt": 1}


def check_tree(element):
    assert re.fullmatch("math|mrow|mi|mn|mo|mtext|mspace|" + "|".join(CHILDREN), element.tag)
    if element.tag in CHILDREN:
        assert len(element) == CHILDREN[element.tag], ET.tostring(element)
    assert set(element.attrib) <= {
        "display",
        "displaystyle",
        "stretchy",
        "minsize",
        "lspace",
        "rspace",
        "movablelimits",
    } | {*("width", "accent", "mathvariant")}
    for child in element:
        check_tree(child)


@pytest.mark.parametrize("method", OWN, ids=lambda method: method.name)
def test_every_method_documents_its_problem(method):
    doc = inspect.getdoc(method.build)
    formulas = formulas_of(doc)
    assert formulas
    for formula in formulas:
        check_tree(ET.fromstring(to_mathml(formula)))
        line = to_unicode(formula)
        assert not re.search(r"\\|[{}$]", line), line
        assert "\n" not in line
        assert line.count("(") == line.count(")")
    shown = readable(doc)
    assert ".. math::" not in shown
    assert ":math:" not in shown
    assert all(to_unicode(formula) in shown for formula in formulas)


@pytest.mark.parametrize(
    "formula, line",
    [
        (r"V^T V = I", "Vᵀ V = I"),
        (r"x_{ij}^2", "xᵢⱼ²"),
        (r"\tfrac12 x + \frac{a + b}{2n}", "½ x + (a + b)/(2n)"),
        (r"-\lVert x - y \rVert_F^2", "−‖x − y‖_F²"),
        (r"\sqrt{\operatorname{vol}}\, \bar x \hat\Delta", "√vol x̄ Δ̂"),
        (r"\sum_{i \ne j} a_{i+1} \;\text{ for every } i", "∑_(i ≠ j) aᵢ₊₁  for every i"),
        (r"(m_h - \bar x)^T", "(mₕ − x̄)ᵀ"),
        (r"11^T/m", "1 1ᵀ/m"),
        (r"\bigl( z' \bigr)^2", "(z′)²"),
        (r"\left[\alpha\right]", "[α]"),
        (r"a_{x y}^{-1/2}", "a_xy^(−1/2)"),
    ],
)
def test_formula_to_unicode(formula, line):
    assert to_unicode(formula) == line


def test_formula_to_mathml():
    assert "<msup><mrow>" in to_mathml("(a + b)^2")  # the exponent applies to the brackets
    assert "<mn>12</mn>" in to_mathml("12 x")
    assert "&lt;" in to_mathml("a < b")
    assert to_mathml(r"\text{<script>}") == '<math display="block"><mtext>&lt;script&gt;</mtext></math>'
    assert "<munder>" in to_mathml(r"\max_V V")


@pytest.mark.parametrize(
    "formula, word",
    [
        (r"\mystery x", r"the command \\mystery is not supported"),
        ("{a", "a } is missing"),
        ("a}", "unmatched }"),
        ("x_1_2", "two subscripts"),
        ("x^", "ends"),
    ],
)
def test_unsupported_latex_is_refused(formula, word):
    with pytest.raises(InputError, match=word):
        parse(formula)


def test_formula_blocks_of_a_docstring():
    doc = """First.

    .. math:: a = b, \\quad
              c = d

    Words with :math:`x_i`.

    .. math::

        e = f

        g = h

    Last.
    """
    assert formulas_of(doc) == [r"a = b, \quad c = d", "e = f", "g = h"]
    assert formulas_of(None) == []
    assert "xᵢ" in readable(doc)
    assert "a = b,  c = d" in readable(doc)
    assert readable(doc).rstrip().endswith("Last.")
