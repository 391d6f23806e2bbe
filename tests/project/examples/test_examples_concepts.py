"""The figure of the concepts page agrees with its caption."""

import pytest

from helpers import ROOT

concepts = pytest.importorskip("concepts_figure", reason="examples/ is not part of this distribution")


@pytest.mark.long
def test_the_shares_are_those_of_the_page(tmp_path):
    free, linear, kernel = concepts.main(["--out", str(tmp_path)]).values()
    text = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    for share in (free, linear, kernel):
        assert f"({100 * share:.1f} %" in text
    assert (tmp_path / "concepts.png").exists()
