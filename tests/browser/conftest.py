"""Tests in a real browser: run when they are named (`make test-browser`), and only where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser import Page, find_browser, started


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run of all tests leaves these out."""
    return None if any("browser" in str(given) for given in config.invocation_params.args) else True


@pytest.fixture(scope="session")
def browser():
    if find_browser() is None:
        pytest.skip("There is no Chromium here: install the package chromium, or set EIGENSPAN_BROWSER to its path.")
    with started() as running:
        yield running


@pytest.fixture
def visit(browser, tmp_path):
    """Write a report, open it in a tab of its own, and return the tab; at the end it must not have complained or asked for anything."""
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
