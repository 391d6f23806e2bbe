"""Tests in a real browser. They run only if named (`make test-browser`) and if a browser is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser import Page, find_browser, started


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Exclude these tests from a run of all tests."""
    return None if any("browser" in str(given) for given in config.invocation_params.args) else True


@pytest.fixture(scope="session")
def browser():
    if find_browser() is None:
        pytest.skip("There is no Chromium here: install the package chromium, or set EIGENSPAN_BROWSER to its path.")
    with started() as running:
        yield running


@pytest.fixture
def visit(browser, tmp_path):
    """Write a report and open it in a new tab; at teardown, fail if the tab logged an error or made a network request."""
    tabs = []

    def open_report(report, width=1280, height=860, dark=False):
        file = report.write(tmp_path / f"report{len(tabs)}.html")
        downloads = tmp_path / f"downloads{len(tabs)}"
        downloads.mkdir()
        page = Page(browser, width, height, dark, downloads)
        page.file = file
        page.open(file)
        tabs.append(page)
        return page

    yield open_report
    for page in tabs:
        assert page.complaints() == []
        assert set(page.requests()) == {page.file.resolve().as_uri()}
        page.close()
