"""Measure the structure of the library, and print the figures beside earlier ones and the aims: ``python -m benchmarks.house``.

The column "before" was measured at commit 4dc7ae6, "now" on the sources that Python imports. `house_calls` defines how the steps
of a fit are counted, `house_source` how source text and classes are. For SIR on Dask only the fit is counted, to three blocks, because
``transform`` of a Dask array only plans the work. ``--verbose`` lists what each figure consists of.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import house_calls as calls
from . import house_source as source
from .house_sentences import draw


class Row(NamedTuple):
    """A line of the table. `counts` returns the text of the column "now"."""

    what: str
    before: str
    aim: str
    counts: Callable[[], str]


def _upward() -> str:
    found = calls.upward(calls.lpp())
    return f"{found.total()} ({sum(times for (caller, _), times in found.items() if caller.startswith('Input.of'))})"


def _base_classes() -> str:
    median, most = source.base_classes()
    return f"{median:g} / {most}"


def _wrong_calls() -> str:
    found = source.wrong_calls()
    return "not measured" if found is None else f"{found[0]} of {found[1]}"


def _files() -> str:
    return " / ".join(map(str, source.method_files()))


def rows() -> Iterator[Row]:
    """All lines of the table."""
    aims = {"LPP": ("179 / 27 / 151", "100 / 16 / 70"), "LaplacianEigenmaps": ("174 / 28 / 139", "halved")}
    aims |= {"LDA from a memmap": ("143 / 23 / 144", "halved"), "CCA": ("97 / 18 / 149", "halved")}
    aims |= {"SIR on Dask (fit)": ("154 / 26 / 224", "halved"), "scikit-learn's SpectralEmbedding": ("19 / 5 / 13", "")}
    aims |= {"scikit-learn's LDA": ("7 / 2 / 4", ""), "scikit-learn's CCA": ("10 / 2 / 4", "")}
    for name, found in calls.all_steps().items():
        yield Row(f"functions / files / switches of file: {name}", *aims[name], lambda found=found: str(found))
    yield Row("upward calls in fit + transform of LPP (by Input.of)", "45 (36)", "5", _upward)
    yield Row("own classes of a method: median / most", "7 / 11", "4 / 6", _base_classes)
    yield Row("hooks that 3 classes or more define", "32", "12", lambda: str(len(source.hooks())))
    yield Row("methods that state their problem twice", "10", "0", lambda: str(len(source.stated_twice())))
    yield Row('definitions of hooks for "where do the rows lie"', "45", "8", lambda: str(source.row_hooks().total()))
    yield Row("declarations of where rows may lie", "", "", lambda: str(source.row_declarations()))
    yield Row("lines of methods that mention lazy or on-disk rows", "48", "5", lambda: str(source.row_lines()))
    yield Row("signatures with Any, engine", "38 %", "12 %", lambda: f"{source.any_share(source.engine()):.1%}")
    inputs = source.in_room(source.INPUT)
    yield Row("signatures with Any, input", "71 %", "", lambda: f"{source.any_share(inputs):.1%}")
    yield Row("wrong calls that mypy catches", "5 of 18", "16 of 18", _wrong_calls)
    yield Row("files of methods: estimators / helpers", "46 / 32", "families", _files)
    yield Row("module names used twice or more", "20", "0", lambda: str(len(source.repeated_module_names())))
    yield Row("public names with two homes", "21", "0", lambda: str(len(source.repeated_public_names())))
    yield Row("names that two packages export", "", "", lambda: str(len(source.exported_twice())))
    yield Row(
        "docstring lines that only name a parameter", "582", "generated", lambda: str(source.shared_parameter_lines())
    )
    yield Row("code lines of the engine", "23,259", "21,500", lambda: f"{source.code_lines():,}")
    yield Row("code lines of its longest function", "", "40", lambda: str(source.longest_functions(1)[0][0]))


def table() -> str:
    """The table, aligned."""
    cells = [("", "before", "now", "aim"), *((row.what, row.before, row.counts(), row.aim) for row in rows())]
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    aligned = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    return "\n".join([aligned[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *aligned[1:]])


def details() -> str:
    """Lists of the items that the figures count."""
    pairs = calls.upward(calls.lpp()).most_common()
    lists = {
        "upward calls": [f"{times} {caller} -> {called}" for (caller, called), times in pairs],
        "hooks": [f"{count} {name}" for name, count in sorted(source.hooks().items(), key=lambda item: -item[1])],
        "stated twice": source.stated_twice(),
        "where do the rows lie": [f"{count} {name}" for name, count in source.row_hooks().most_common()],
        "module names": [f"{count} {name}" for name, count in sorted(source.repeated_module_names().items())],
        "public names": [
            f"{name}: {', '.join(paths)}" for name, paths in sorted(source.repeated_public_names().items())
        ],
        "exported twice": source.exported_twice(),
        "longest functions": [f"{lines} {name}" for lines, name in source.longest_functions()],
    }
    return "\n".join(f"\n{name}\n" + "\n".join(f"    {line}" for line in lines) for name, lines in lists.items())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description=__doc__.splitlines()[0])
    parser.add_argument("--verbose", action="store_true", help="list what each figure consists of")
    parser.add_argument(
        "--sentences", type=int, metavar="COUNT", help="print COUNT random sentences of the sources instead"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of their choice")
    chosen = parser.parse_args()
    if chosen.sentences:
        print("\n".join(f"{place}  {text}" for place, text in draw(chosen.sentences, chosen.seed)))
        return
    print(table())
    if chosen.verbose:
        print(details())


if __name__ == "__main__":
    main()
