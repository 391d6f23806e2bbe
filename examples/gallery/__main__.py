"""Remake the figures and tables of the five papers.

    EIGENSPAN_DATA=<folder of .npz files> python examples/gallery            # all
    python examples/gallery s1                                               # those of one paper, or one page: s1/plot_figure_1_2
    python examples/gallery --write docs                                     # the same, with pictures and the page that lists them

prints the claims of each paper, with their rates over draws. Pages whose data are not in EIGENSPAN_DATA are left out, and the program
says so. It ends with 1 if a claim does not come out as its page says: a claim that fails without an explanation, or an explained one
that holds.
"""

from __future__ import annotations

import argparse
import ast
import re
import runpy
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from beside import RULE, Beside, MissingDataError  # noqa: E402

PAPERS = {
    "s0": "Kokiopoulou, Chen & Saad (2011), Trace optimization and eigenproblems in dimension reduction methods",
    "s1": "Saul, Weinberger, Sha, Ham & Lee (2006), Spectral methods for dimensionality reduction",
    "s2": "Chatpatanasiri & Kijsirikul (2009), A unified semi-supervised dimensionality reduction framework for manifold learning",
    "s3": "Burges (2010), Dimension reduction: a guided tour",
    "s4": "Ghojogh, Ghodsi, Karray & Crowley (2021), Unified framework for spectral dimensionality reduction, maximum variance unfolding, "
    "and kernel learning by semidefinite programming",
}
#: What takes minutes to hours and has a page of its own, with its verdict.
ELSEWHERE = {
    "s0": [("Figures 21 and 22: error against the number of dimensions", "s0.md", "")],
    "s2": [
        (
            "Tables 2 and 3: seven methods on five data sets",
            "s2.md",
            " **FAILED**: the paper's headline, 32 wins of 40, is not reproduced.",
        )
    ],
}
#: What is not remade, and why.
MISSING = """| paper | figures | reason |
|---|---|---|
| S0 | 1 (left), 3, 4, 5, 6, 7 | drawings that explain a term |
| S0 | 8 | a drawing of a few points that shows weaknesses of PCA and LDA, without data |
| S0 | 9, 10 | diagrams of how methods are related; [theorems](../theorems.md) tests their arrows |
| S0 | 1 (right), 15, 18, 19, 20 | samples of the pictures in a data set |
| S0 | 23, and AR in table II | the AR faces are not to be had |
| S2 | 1, 3 | algorithms, printed as text |
| S2 | 8 | an enlarged part of figure 7 |
| S2 | table 1, columns but the last | sizes and dimensions; see the protocol of [tables 2 and 3](s2.md) |
| S3 | 2.6, 3.3, 5.1 | distances, PCA and t-SNE of the KDD Cup 2008 data, which are not to be had |
| S3 | 3.1, 3.6, 3.7 | drawings |

All figures of S1, and all figures and tables of S4, are remade."""
PAGE = "reproductions/figures.md"


def pages(wanted: str = "") -> list[Path]:
    """The scripts, those of one paper or one of them."""
    return [path for path in sorted(HERE.glob("s?/*.py")) if f"{path.parent.name}/{path.stem}".startswith(wanted)]


def head(path: Path) -> tuple[str, str]:
    """Title of a script, and what the paper shows."""
    title, _, text = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")
    text = text.partition("\n\n.. image::")[0]  # for the site, where scripts that need data are not run
    return title, re.sub(r":math:`([^`]*)`", r"$\1$", text.lstrip("=\n"))


def run(path: Path) -> Beside:
    """Run a script; what it compared. Its figures stay open in pyplot."""
    return runpy.run_path(str(path))["beside"]


def entry(path: Path, beside: Beside, image: str) -> str:
    """A script's part of the page."""
    title, text = head(path)
    source = (
        f"[`examples/gallery/{path.parent.name}/{path.name}`](../../examples/gallery/{path.parent.name}/{path.name})"
    )
    notes = f"**Settings.** {beside.settings}\n\n**What differs.** {beside.differs} {source}\n"
    return f"### {title}\n\n{text}\n\n![{title}](../{image})\n\n{beside.markdown()}\n\n{notes}"


def page(parts: dict[str, list[str]], holding: int, failing: int) -> str:
    """The page that lists everything."""
    lines = [
        "# Figures and tables of the papers, remade",
        "*Written by `make gallery`: do not edit.*",
        f"Each entry states what a figure claims, draws ours, and asserts each claim over many draws (mean ± standard deviation). {RULE} "
        "A claim about the only data set, a theorem or a guarantee must hold in every case. **FAILED** marks a claim "
        "that does not hold, with "
        f"what we think of it. Here {holding} claims hold and {failing} failed.",
    ]
    for paper, entries in parts.items():
        lines.append(f"## {paper.upper()}: {PAPERS[paper]}")
        lines += entries
        lines += [
            f"### {paper.upper()}, {title[0].lower()}{title[1:]}\n\nOn [a page of its own]({link}).{verdict}\n"
            for title, link, verdict in ELSEWHERE.get(paper, [])
        ]
    return "\n\n".join([*lines, "## Not remade", MISSING]) + "\n"


def save(path: Path, docs: Path) -> str:
    """Write the open figures below each other as one picture; its place in the docs."""
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.image import imsave

    rows = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.set_dpi(75)
        figure.canvas.draw()
        rows.append(np.asarray(figure.canvas.buffer_rgba())[..., :3])
    widest = max(row.shape[1] for row in rows)
    whole = [np.pad(row, ((0, 0), (0, widest - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
    place = f"images/gallery/{path.parent.name}-{path.stem.split('_', 1)[1].replace('_', '-')}.png"
    (docs / place).parent.mkdir(parents=True, exist_ok=True)
    imsave(docs / place, np.vstack(whole))
    return place


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wanted", nargs="?", default="", help="a paper (s0 to s4) or a page")
    parser.add_argument(
        "--write", type=Path, metavar="DOCS", help="folder of the documentation, for the pictures and the page"
    )
    given = parser.parse_args(arguments)
    if given.write and given.wanted:
        parser.error("--write makes the whole page: name no part of it")
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    done, left_out, parts = [], [], {paper: [] for paper in PAPERS}
    chosen = pages(given.wanted)
    if not chosen:
        parser.error(f"there is no page {given.wanted!r}: {', '.join(f'{p.parent.name}/{p.stem}' for p in pages())}")
    for path in chosen:
        plt.close("all")
        began = time.perf_counter()
        try:
            beside = run(path)
        except MissingDataError as reason:
            left_out.append(path)
            print(f"{path.parent.name}/{path.stem} left out: {reason}")
            continue
        print(f"({time.perf_counter() - began:.1f} s)\n")
        done.append(beside)
        if given.write:
            parts[path.parent.name].append(entry(path, beside, save(path, given.write)))
    if given.write and left_out:
        parser.error("the page is not written without all data (EIGENSPAN_DATA)")
    failed, surprises = (
        sum(map(len, counts)) for counts in ([b.failures() for b in done], [b.surprises() for b in done])
    )
    held = sum(len(beside.claims) for beside in done) - failed
    if given.write:
        (given.write / PAGE).write_text(page(parts, held, failed), encoding="utf-8")
    print(f"{len(done)} pages made, {len(left_out)} left out: {held} claims hold, {failed} failed.")
    print(f"{surprises} claims do not come out as their page says.")
    return int(surprises > 0)


if __name__ == "__main__":
    sys.exit(main())
