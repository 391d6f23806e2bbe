"""The built documentation, opened without a network: formulas, search, links and examples."""

from __future__ import annotations

import inspect
import re
from urllib.parse import unquote, urldefrag

import pytest

import eigenspan
from browser import Page
from helpers import ROOT

SITE = ROOT / "docs" / "_build" / "html"


@pytest.fixture
def read(browser, tmp_path):
    """Open a page of the site; at teardown, fail if it logged an error or requested anything but files."""
    if not (SITE / "index.html").exists():
        pytest.skip("The documentation is not built: make docs")
    tabs = []

    def open_page(name, wait="document.readyState === 'complete'", query=""):
        page = Page(browser, 1280, 900, False, tmp_path)
        page.call("Page.navigate", url=(SITE / name).resolve().as_uri() + query)
        page.wait(f"location.protocol === 'file:' && {wait}")
        tabs.append(page)
        return page

    yield open_page
    for page in tabs:
        assert page.complaints() == []
        assert all(url.startswith("file:") for url in page.requests())
        page.close()


TYPESET = "window.MathJax && MathJax.startup && document.querySelector('mjx-container svg')"


@pytest.mark.parametrize("name", ["labels.html", "site/reference/eigenspan.LPP.html"])
def test_bundled_mathjax_renders_formulas(read, name):
    page = read(name, TYPESET)
    page.wait("document.querySelectorAll('mjx-container').length === document.querySelectorAll('.math').length")
    assert page.run("document.querySelectorAll('mjx-merror, [data-mjx-error]').length") == 0
    assert page.box("mjx-container svg")["width"] > 50


@pytest.mark.parametrize("word, found", [("isomap", "eigenspan.Isomap"), ("commute", "eigenspan.CommuteTimeEmbedding")])
def test_the_search_finds_a_method(read, word, found):
    page = read("search.html", "document.querySelectorAll('#search-results li a').length", f"?q={word}")
    page.wait(f"[...document.querySelectorAll('#search-results a')].some(a => a.href.includes('{found}'))")


def test_names_in_text_link_to_reference_pages(read):
    page = read("choosing.html")
    assert page.run("document.querySelector('article a[href*=\"eigenspan.MVU.html\"]').textContent") == "MVU"


def test_executed_example_shows_its_figures(read):
    page = read("site/gallery/s3/plot_figure_3_5.html")
    assert page.run("document.querySelector('img.sphx-glr-single-img').naturalWidth") > 300
    assert "paper: LDA better" in page.run("document.querySelector('article').textContent")


@pytest.fixture
def html():
    """Return the text of every page by its path."""
    if not (SITE / "index.html").exists():
        pytest.skip("The documentation is not built: make docs")
    pages = [page for page in SITE.rglob("*.html") if "_static" not in page.parts]
    return {page.resolve(): page.read_text(encoding="utf-8") for page in pages}


@pytest.mark.parametrize("name", eigenspan.__all__)
def test_every_parameter_is_on_the_page_of_its_name(html, name):
    thing = getattr(eigenspan, name)
    full = "methods.registry.methods" if name == "methods" else name
    text = html[(SITE / "site" / "reference" / f"eigenspan.{full}.html").resolve()]
    if name != "SELF" and hasattr(thing, "get_params"):
        listed = set(re.findall(r"\w+", " ".join(re.findall(r"<dt><strong>([^<]*)</strong>", text))))
        assert set(inspect.signature(thing).parameters) <= listed


def test_internal_links_resolve(html):
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in html.items()}
    lost = []
    for page, text in html.items():
        for link in set(re.findall(r'\b(?:href|src)="([^"]+)"', text)):
            path, anchor = urldefrag(unquote(link.partition("?")[0]))
            if re.match(r"[a-z]+:", link):
                continue
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and target in anchors and anchor not in anchors[target]):
                lost.append(f"{page.name}: {link}")
    assert lost == []
