"""Text of a table is never run as code; and large tables give small, fast pages."""

from __future__ import annotations

import numpy as np
import pandas as pd

from eigenspan.report import Formulas, Report, Table
from explorer_helpers import chosen

HOSTILE = [
    "</script><img src=x onerror=\"document.title='owned'\">",
    "<!--<script>",
    "]]></style><svg onload=alert(1)>",
    "\"'`&amp;{{script}}{{data}}",
    "\u2028\u2029\u0000\u202e",
    "👩‍🔬 emoji 🧪",
    "long " * 2000,
    "half a letter \ud83d",
    'a,b;"c"\r\nd',
    "",
]


def hostile_report():
    n = 200
    rng = np.random.default_rng(0)
    words = [HOSTILE[i % len(HOSTILE)] for i in range(n)]
    table = pd.DataFrame(
        {
            HOSTILE[0]: rng.standard_normal(n),
            "word": np.array(words, dtype=object),
            HOSTILE[3]: np.array(words[::-1], dtype=object),
        },
        dtype=object,
    )
    quality = pd.DataFrame({HOSTILE[0]: [0.5], "b": [HOSTILE[2]]}, index=[HOSTILE[1]])
    return Report(
        HOSTILE[0],
        {HOSTILE[0]: rng.standard_normal((n, 2)), HOSTILE[6]: rng.standard_normal((n, 2))},
        table,
        colour="word",
        facts={HOSTILE[0]: {HOSTILE[2]: HOSTILE[3]}},
        warnings=HOSTILE,
        provenance={"command": HOSTILE[0], HOSTILE[1]: HOSTILE[2]},
        sections=[
            Table(HOSTILE[0], quality, HOSTILE[3]),
            Formulas(HOSTILE[1], {HOSTILE[0]: ([r"\text{<b onclick=x>}"], "")}),
        ],
        notes={HOSTILE[0]: HOSTILE[2]},
    )


def test_hostile_text_is_shown_as_text(visit):
    page = visit(hostile_report())
    assert page.run("document.body.dataset.state") == "ready"
    assert page.run("document.title") == HOSTILE[0]
    assert (
        page.run(
            "document.querySelectorAll('img, iframe, object, embed, svg[onload], b[onclick], style:not(head style)').length"
        )
        == 0
    )
    assert page.run("document.querySelectorAll('script').length") == 3
    box = page.box(".plot", 0)
    for step in range(40):
        page.mouse("mouseMoved", box["x"] + 8 * step, box["y"] + 5 * step)
    for column in ("0", "1", "2", "none"):
        page.run(f"(colour.value = '{column}', colour.dispatchEvent(new Event('change')))")
        page.settle()
    page.run("explorer.select(() => true, 'only')")
    assert page.run("document.title") == HOSTILE[0]
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("document.documentElement.scrollWidth") <= 1280


def test_hostile_text_is_saved_unchanged(visit):
    page = visit(hostile_report())
    page.run("explorer.select((row) => row < 20, 'only')")
    assert chosen(page) == list(range(20))
    told = page.run("explorer.columns[1].text(5)")
    assert told == HOSTILE[5]
    saved = pd.read_csv(page.saved(lambda: page.click("#save")), keep_default_na=False, lineterminator=None, dtype=str)
    wanted = [HOSTILE[i % len(HOSTILE)] for i in range(20)]
    for row in range(20):
        if row % 10 not in (4, 7):  # pandas ends a cell at a zero byte; a lone surrogate cannot be encoded
            assert saved["word"][row].replace("\r\n", "\n") == wanted[row].replace("\r\n", "\n")


def test_injected_scripts_do_not_run(visit, tmp_path):
    page = visit(hostile_report())
    assert page.run(
        "new Promise((done) => { addEventListener('securitypolicyviolation', (event) => done(event.violatedDirective)); "
        "const script = document.createElement('script'); script.textContent = 'document.title = 1'; document.body.append(script); })"
    )
    assert page.run("document.title") == HOSTILE[0]
    refused = page.run("fetch('https://example.com/').then(() => 'went', () => 'refused')")
    assert refused == "refused"
    kept = [event for event in page.browser.events if "Content Security Policy" not in str(event)]
    page.browser.events[:] = kept  # these two errors are expected
    page.requests = lambda: [page.file.resolve().as_uri()]


def test_speed_of_a_large_page(visit):
    n = 50_000
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 10, n)
    centres = rng.standard_normal((10, 2)) * 4
    embeddings = {
        f"method {k}": centres[kind] @ rng.standard_normal((2, 2)) + rng.standard_normal((n, 2)) for k in range(6)
    }
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "kind": np.array(list("ABCDEFGHIJ"))[kind],
            "t": rng.random(n),
            "u": rng.standard_normal(n),
            "score": rng.gamma(2, 1, n),
            "batch": rng.integers(0, 4, n),
            "name": [f"row {i} of {'ABCDEFGHIJ'[c]}" for i, c in enumerate(kind)],
        }
    )
    page = visit(Report("Large", embeddings, table, colour="kind"))
    finished = "explorer.painter.gl.readPixels(0, 0, 1, 1, 6408, 5121, new Uint8Array(4))"
    timed = "(() => {{ const start = performance.now(); {0}; {1}; return performance.now() - start; }})()"
    drawn = []
    while len(drawn) < 6 and (len(drawn) < 2 or min(drawn) > 2):  # repeat, because the machine may be busy
        page.open(page.file)
        drawn.append(page.run(f"({finished}, performance.now())") / 1000)
    frame = page.run(timed.format("explorer.paint()", finished))
    corners = "Array.from({length: 200}, (_, k) => [200 + 150 * Math.cos(k / 32), 150 + 100 * Math.sin(k / 32)])"
    lasso = page.run(timed.format(f"explorer.select(explorer.panels[2].insideOf({corners}), 'only')", ""))
    size = page.file.stat().st_size / 1e6
    print(
        f"\n50,000 x 6: {size:.2f} MB, drawn after {min(drawn):.2f} s, a frame {frame:.0f} ms, a lasso {lasso:.0f} ms"
    )
    assert size < 4
    assert min(drawn) < 2
    assert 0 < len(chosen(page)) < n
