"""Messy input files: names and contents, text or bytes."""

from __future__ import annotations

import gzip
import io
import json
import zipfile

import numpy as np

_RNG = np.random.default_rng(0)
_N = 40


def _table(rows, header="a,b,c", sep=","):
    return header.replace(",", sep) + "\n" + "\n".join(sep.join(map(str, row)) for row in rows) + "\n"


def _numbers(n=_N, d=3):
    return _RNG.normal(size=(n, d)).round(3)


def _npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _zip(**entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


def _with(rows, column, values):
    return [[*row[:column], value, *row[column + 1 :]] for row, value in zip(rows.tolist(), values, strict=True)]


_X = _numbers()
_GOOD = _table(_X)
_WORDS = ["red", "green", "blue", "grey"] * 10

MESSY: dict[str, str | bytes] = {
    # valid but unusual
    "plain.csv": _GOOD,
    "semicolon.csv": _table(_X, sep=";"),
    "comma-decimals.csv": _table(_X, sep=";").replace(".", ","),
    "tabs.tsv": _table(_X, sep="\t"),
    "pipes.txt": _table(_X, sep="|"),
    "blanks.dat": _table(_X, sep="  "),
    "windows.csv": _GOOD.replace("\n", "\r\n"),
    "old-mac.csv": _GOOD.replace("\n", "\r"),
    "bom.csv": "\ufeff" + _GOOD,
    "utf16.csv": _GOOD.encode("utf-16"),
    "latin.csv": _table(_with(_X, 1, _X[:, 1]), "größe,höhe,tiefe").encode("latin-1"),
    "emoji.csv": _table(_X, "😀,ünï,c d"),
    "no-header.csv": _table(_X).split("\n", 1)[1],
    "quoted.csv": _table(_X, '"a, with comma","b ""quoted""",c'),
    "blank-lines.csv": _GOOD.replace("\n", "\n\n"),
    "trailing-commas.csv": _GOOD.replace("\n", ",\n"),
    "spaces.csv": _GOOD.replace(",", " , "),
    "gz.csv.gz": gzip.compress(_GOOD.encode()),
    "no-ending": _GOOD,
    "odd.ending": _GOOD,
    # columns of other types
    "all-text.csv": _table([[w, w, w] for w in _WORDS]),
    "words.csv": _table(_with(_X, 2, _WORDS)),
    "dates.csv": _table(_with(_X, 0, [f"2024-01-{1 + i % 28:02d}" for i in range(_N)])),
    "booleans.csv": _table(_with(_X, 1, ["True", "False"] * 20)),
    "money.csv": _table(_with(_X, 1, [f'"${v:,.2f}"' for v in 1e4 + 1e3 * _X[:, 1]])),
    "per-cent.csv": _table(_with(_X, 1, [f"{v:.1f}%" for v in _X[:, 1]])),
    "german.csv": _table(_with(_X, 1, [f"1.{i:03d},50" for i in range(_N)]), sep=";"),
    "thousands.csv": _table(_with(_X, 1, [f'"{1000 + i:,}"' for i in range(_N)])),
    "accounting.csv": _table(_with(_X, 1, [f"({i})" if i % 2 else str(i) for i in range(_N)])),
    "mixed-cells.csv": _table(_with(_X, 1, ["n/a" if i % 9 == 0 else i for i in range(_N)])),
    "units.csv": _table(_with(_X, 1, [f"{i} kg" for i in range(_N)])),
    "ids.csv": _table(np.column_stack([np.arange(_N), _X]).tolist(), "PassengerId,a,b,c"),
    "id-only.csv": _table([[i] for i in range(_N)], "id"),
    "one-column.csv": _table(_X[:, :1], "a"),
    "constant.csv": _table([[1, 2, 3]] * _N),
    "duplicates.csv": _table([[1, 2, 3], [4, 5, 7]] * 20),
    "same-names.csv": _table(_X, "a,a,b"),
    "unnamed.csv": _table(_X, ",,c"),
    "huge-numbers.csv": _table((_X * 1e300).tolist()),
    "tiny-numbers.csv": _table((_X * 1e-300).tolist()),
    "complex.csv": _table([["1+2j", "2-1j", 3]] * _N),
    "dict-cells.csv": _table(_with(_X, 0, ['"{""x"": 1}"'] * _N)),
    "long-cells.csv": _table(_with(_X, 0, ["x" * 10_000] * _N)),
    "hostile.csv": _table(_with(_X, 0, ['"</script><b>[bold]"'] * _N), '"=cmd()",<b>,[red]c'),
    # missing values
    "gaps.csv": _table(_with(_X, 1, ["" if i % 7 == 0 else v for i, v in enumerate(_X[:, 1])])),
    "all-gaps.csv": _table([["", "", ""]] * _N),
    "column-of-gaps.csv": _table(_with(_X, 1, [""] * _N)),
    "gap-in-every-row.csv": _table([["", 1, 2] if i % 2 else [3, "", i] for i in range(_N)]),
    "question-marks.csv": _table(_with(_X, 1, ["?" if i == 3 else v for i, v in enumerate(_X[:, 1])])),
    "infinite.csv": _table(_with(_X, 1, ["inf" if i == 3 else v for i, v in enumerate(_X[:, 1])])),
    # degenerate tables
    "empty.csv": "",
    "header-only.csv": "a,b,c\n",
    "one-row.csv": _table(_X[:1]),
    "two-rows.csv": _table(_X[:2]),
    "ragged.csv": _GOOD + "1,2,3,4,5\n",
    "binary.csv": bytes(range(256)) * 20,
    "nul.csv": _GOOD.replace("0", "\x00"),
    "html.csv": "<html><body><h1>404</h1></body></html>",
    "cut.csv.gz": gzip.compress(_GOOD.encode())[:50],
    # other formats, valid and damaged
    "lines.jsonl": "\n".join(json.dumps({"a": float(x), "b": float(y), "c": float(z)}) for x, y, z in _X),
    "list.json": json.dumps([{"a": float(x), "b": [1, 2], "c": float(z)} for x, _, z in _X]),
    "broken.json": '{"a": [1, 2',
    "vector.npy": _npy(np.arange(10.0)),
    "cube.npy": _npy(_RNG.normal(size=(20, 3, 4))),
    "objects.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"
    + b" " * 50
    + b"\n",
    "with-labels.npz": _npz(X=_X, y=np.arange(_N) % 3),
    "two-matrices.npz": _npz(A=_X, B=_X),
    "zip.npz": _zip(**{"readme.txt": "hello"}),
    "not.parquet": "PAR1 this is none",
    "not.xlsx": b"PK\x03\x04 this is none",
    "document.docx": _zip(**{"word/document.xml": "<w/>"}),
}
