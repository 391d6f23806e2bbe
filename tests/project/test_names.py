"""Names under which people find methods: titles, phrases, and the phrases of the papers."""

from __future__ import annotations

import ast
import csv
import inspect
import random
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from sklearn.cross_decomposition import PLSRegression

import eigenspan as es
from eigenspan.errors import InputError
from eigenspan.methods.finder import key, words
from eigenspan.methods.registry import all_rows, call_of, entries
from eigenspan.methods.topics import TOPICS

PHRASES = Path(__file__).with_name("paper_phrases.tsv")
#: Values of the arguments that a call of `find` leaves open.
OPEN = {"embedding": es.LLE(), "estimator": es.PCA(), "PLSRegression": PLSRegression}


@cache
def calls(text: str) -> tuple[str, ...]:
    return tuple(hit.call for hit in es.find(text, most=3))


def table() -> list[dict[str, str]]:
    with PHRASES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


# ---------------------------------------------------------------------- the phrases of the papers
def test_there_are_two_hundred_phrases_of_all_papers() -> None:
    found = table()
    assert len({row["phrase"] for row in found}) >= 200
    assert {row["paper"] for row in found} == {"S0", "S1", "S2", "S3", "S4"}


@pytest.mark.parametrize("paper", ["S0", "S1", "S2", "S3", "S4"])
def test_phrases_of_a_paper_are_among_the_first_three_results(paper: str) -> None:
    missed = [
        f"{row['phrase']!r} should find {row['call']}; it finds {', '.join(calls(row['phrase'])) or 'nothing'}"
        for row in table()
        if row["paper"] == paper and row["call"] not in calls(row["phrase"])
    ]
    assert missed == [], "Add the phrase to known_as of the method, or to methods/topics.py:\n" + "\n".join(missed)


@pytest.mark.parametrize(
    "text, call",
    [
        ("locally linear embedding", "LLE()"),
        ("maximum variance unfolding", "MVU()"),
        ("linear discriminant analysis", "LDA()"),
        ("metric MDS", "ClassicalMDS()"),
        ("sliced average variance estimation", "SAVE()"),
        ("MDA", "LDA()"),
        ("local Fisher discriminant analysis", "LFDA()"),
        ("kernel ONPP", "ONPP(kernel='rbf')"),
        ("c-Isomap", "Isomap(conformal=True)"),
    ],
)
def test_names_that_pointed_elsewhere_come_first(text: str, call: str) -> None:
    assert calls(text)[0] == call


# ---------------------------------------------------------------------- the search
@pytest.mark.parametrize(
    "one, same",
    [
        ("normalised cut", "Normalized Cuts"),
        ("neighbourhood-preserving embedding", "neighborhood preserving embeddings"),
        ("coloured MVU", "colored mvu"),
        ("Nyström method", "Nystrom method"),
        ("Karhunen–Loève transform", "Karhunen-Loeve transform"),
        ("semi-supervised labelled points", "semisupervised labeled points"),
        ("non-metric multi-dimensional scaling", "nonmetric multidimensional scaling"),
        ("double centring", "double centering"),
        ("Fisher's discriminant", "Fisher discriminants"),
        ("principal component analysers", "principal component analyzers"),
        ("dimensionality reduction", "dimension reduction"),
        ("Laplacean", "Laplacian"),
        ("ClassicalMDS", "classical MDS"),
    ],
)
def test_spellings_are_the_same(one: str, same: str) -> None:
    assert key(one) == key(same)


def test_words_that_only_look_alike_stay_apart() -> None:
    apart = ("analysis", "noise", "class", "loss", "LPP", "LPP*", "bias", "SIR", "four", "SDR", "SSDR")
    assert len({words(text) for text in apart}) == len(apart)


def test_every_phrase_finds_its_call_first_in_other_spellings() -> None:
    known = list(entries())
    meant: dict[str, set[str]] = {}
    for entry in known:
        meant.setdefault(key(entry.phrase), set()).add(entry.call)
    for entry in known[::12]:
        other = entry.phrase.upper().replace("-", " ").replace("ISE", "IZE")
        assert calls(other)[0] in meant[key(entry.phrase)], other


def test_titles_with_a_typing_error_are_found() -> None:
    rng = random.Random(0)
    for row in all_rows()[::4]:
        at = rng.randrange(1, len(row.title) - 1)
        for wrong in (row.title[:at] + row.title[at + 1 :], row.title[:at] + "x" + row.title[at:]):
            assert call_of(row) in calls(wrong), wrong


def test_results_hold_what_they_say() -> None:
    hits = es.find("normalized cut")
    assert isinstance(hits, list)
    first = hits[0]
    assert (first.name, first.title, first.call) == (
        "SpectralClustering",
        "Spectral clustering",
        "SpectralClustering()",
    )
    assert first.why == 'known as "normalised cut"'
    assert repr(hits).splitlines()[0].split() == [*first.call.split(), *first.title.split(), *first.why.split()]
    assert len(hits) <= 5
    assert len({hit.call for hit in hits}) == len(hits)
    assert es.find("normalized cut", most=1) == hits[:1]


@pytest.mark.parametrize("text", ["", "  ", "zzzz", "?!", "–"])
def test_nothing_similar_is_an_empty_list(text: str) -> None:
    assert es.find(text) == []
    assert repr(es.find(text)) == "no hits"


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "3", None])
def test_number_of_results_is_validated(most: Any) -> None:
    with pytest.raises(InputError, match="most="):
        es.find("pca", most=most)


def test_only_text_is_searched() -> None:
    with pytest.raises(InputError, match="string such as"):
        es.find(3)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- make
def test_make_takes_titles() -> None:
    assert isinstance(es.make("Locally linear embedding"), es.LLE)
    assert isinstance(es.make("neighborhood preserving projection", 3), es.NPP)


@pytest.mark.parametrize(
    "name, hint",
    [
        ("kernel ONPP", r"Did you mean 'ONPP' with kernel='rbf'\?"),
        ("metric MDS", r"Did you mean 'ClassicalMDS'\?"),
        ("t-distributed SNE", r"Did you mean 'TSNE'\?"),
        ("correlation dimension", r"Did you mean intrinsic_dimension\(X, 'correlation'\)\?"),
    ],
)
def test_make_hints_at_the_best_result(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        es.make(name)


def test_make_has_no_hint_where_nothing_is_similar() -> None:
    with pytest.raises(InputError, match=r"no method 'zzzz'\. eigenspan\.methods\(\) lists"):
        es.make("zzzz")


# ---------------------------------------------------------------------- the calls
def _construct(call: str) -> None:
    """Build what a call names and validate its parameters; of a function, bind the arguments."""
    tree = ast.parse(call, mode="eval").body
    if not isinstance(tree, ast.Call):
        assert hasattr(es, call), call
        return
    function = attrgetter(ast.unparse(tree.func))(es)
    if inspect.isclass(function) or function is es.make:
        built = eval(call, {**vars(es), **OPEN})
        getattr(built, "_validate_params", lambda: None)()
        return
    given = {str(each.arg): each.value for each in tree.keywords}
    inspect.signature(function).bind(*tree.args, **given)


@pytest.mark.parametrize("row", all_rows(), ids=lambda row: row.name)
def test_every_call_of_a_row_can_be_constructed(row: Any) -> None:
    for arguments in dict.fromkeys(("", *(arguments for arguments, _ in row.phrases))):
        _construct(call_of(row, arguments))


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.title)
def test_every_call_of_a_topic_can_be_constructed(topic: Any) -> None:
    _construct(topic.call)
    row_names = {row.name for row in all_rows()}
    assert topic.call.partition("(")[0] not in row_names, "phrases of a method belong beside its row, in known_as"


def test_no_phrase_of_a_row_is_a_name_of_another() -> None:
    names = {key(name): row.name for row in all_rows() for name in (row.name, *row.aliases, row.title)}
    wrong = [
        f"{phrase!r}, a phrase of {row.name}, is a name of {names[key(phrase)]}"
        for row in all_rows()
        for _, phrase in row.phrases
        if names.get(key(phrase), row.name) != row.name
    ]
    assert wrong == []
