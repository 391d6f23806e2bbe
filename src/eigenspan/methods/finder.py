"""Search for methods and other public names by what people call them."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

#: Rules for a word: British spelling to American. They also change words that are the same in both, such as "noise".
_AMERICAN = (
    (re.compile(r"(?<=\w\w)our"), "or"),
    (re.compile(r"(?<=\w\w)([iy])s(?=e|ing|ation)"), r"\1z"),
    (re.compile(r"tre(?=s?$|d$)"), "ter"),
    (re.compile(r"tring$"), "tering"),
    (re.compile(r"ll(?=ed$|ing$|ers?$)"), "l"),
)
#: Rules for forms of a word: Laplacean, dimensionality, and plurals.
_FORMS = (
    (re.compile(r"ean(?=s?$)"), "ian"),
    (re.compile(r"(?<=\w\w\w)ality$"), ""),
    (re.compile(r"(?<=\w\w)ies$"), "y"),
    (re.compile(r"(?<=\w\w\w)(?<![sui])s$"), ""),
)
#: Prefixes that are written with or without a hyphen or space.
_PREFIX = re.compile(r"\b(non|semi|multi|pre|co|sub|pseudo)[\W_]+(?=[^\W_])")
_WORD = re.compile(r"[^\W_]+\*?")

#: Least similarity of two words, and of two phrases without spaces, that counts as a typing error; least score of a hit.
_WORD_TYPO, _PHRASE_TYPO, _LEAST = 0.8, 0.75, 0.45


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a phrase without case, accents, hyphens and apostrophes, in American spelling and in the singular."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(letter for letter in letters if not unicodedata.combining(letter))
    letters = _PREFIX.sub(r"\1", re.sub(r"['’]s?\b", "", letters))
    return tuple(_replaced(word, (*_AMERICAN, *_FORMS)) for word in _WORD.findall(letters))


def american(text: str) -> str:
    """Return a phrase with the rules for American spelling, for indexes of other search engines."""
    return re.sub(r"\w+", lambda word: _replaced(word[0], _AMERICAN), text)


def _replaced(word: str, rules: Iterable[tuple[re.Pattern[str], str]]) -> str:
    for pattern, replacement in rules:
        word = pattern.sub(replacement, word)
    return word


def key(text: str) -> str:
    """Return the words of a phrase without spaces, in the singular; equal for all spellings of it."""
    return _joined(words(text))


def _joined(found: tuple[str, ...]) -> str:
    return _replaced("".join(found), _FORMS[-1:])  # "ClassicalMDS" is one word, and "classical MDS" two


@dataclass(frozen=True)
class Entry:
    """A phrase, and the call that it stands for."""

    phrase: str
    name: str
    title: str
    call: str
    plain: bool


@dataclass(frozen=True)
class Hit:
    """One result of `find`.

    Attributes
    ----------
    name : str
        The class or function.
    title : str
        Its full name.
    call : str
        The call that the text stands for.
    why : str
        The phrase that was found.
    """

    name: str
    title: str
    call: str
    why: str

    def __str__(self) -> str:
        return f"{self.call}  {self.title} ({self.why})"


class Hits(list[Hit]):
    """Results of `find`, best first; printed as one line each."""

    def __repr__(self) -> str:
        if not self:
            return "no hits"
        calls, titles = (max(len(getattr(hit, part)) for hit in self) for part in ("call", "title"))
        return "\n".join(f"{hit.call:<{calls}}  {hit.title:<{titles}}  {hit.why}".rstrip() for hit in self)


class Index:
    """Entries and their words, to be searched many times."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self.words = [words(entry.phrase) for entry in self.entries]
        counts = Counter(word for found in self.words for word in set(found))
        #: The rarer a word among the phrases, the more it says; `unknown` is the weight of a word that is in none.
        self.weights = {word: math.log((len(self.words) + 1) / (count + 0.5)) for word, count in counts.items()}
        self.unknown = math.log(2 * (len(self.words) + 1))
        self.sums = [sum(self.weights[word] for word in found) for found in self.words]

    def search(self, text: str, most: int = 5) -> Hits:
        """Return the best entries for a text, at most one for each call.

        Exact phrases come first, then phrases with most of the words (rare words count more, typing errors count less).
        """
        scored = [pair for pair in zip(self._scores(words(text)), self.entries, strict=True) if pair[0] >= _LEAST]
        hits: dict[str, Hit] = {}
        for score, entry in sorted(scored, key=lambda pair: (-pair[0], not pair[1].plain)):
            why = f'{"known as" if score == 1.0 else "similar to"} "{entry.phrase}"'
            hits.setdefault(entry.call, Hit(entry.name, entry.title, entry.call, why))
        return Hits(list(hits.values())[:most])

    def _scores(self, ours: tuple[str, ...]) -> Iterator[float]:
        """Yield the similarity of each phrase with a text: 1 if they are the same apart from spelling, or else less."""
        joined = _joined(ours)
        alike = [{word: degree for word in self.weights if (degree := _alike(word, our))} for our in ours]
        own = [self.weights.get(our, self.unknown) for our in ours]
        for theirs, total in zip(self.words, self.sums, strict=True):
            other = _joined(theirs)
            if joined == other or not joined:
                yield float(bool(joined))
                continue
            degrees = [[near.get(word, 0.0) for word in theirs] for near in alike]
            found = sum(weight * max(row) for weight, row in zip(own, degrees, strict=True)) / sum(own)
            back = sum(
                self.weights[word] * max(column)
                for word, column in zip(theirs, zip(*degrees, strict=True), strict=True)
            )
            typo = 0.0 if min(len(joined), len(other)) < 3 else _ratio(joined, other, _PHRASE_TYPO)
            yield max(0.98 * math.sqrt(found * back / total), 0.95 * typo)


def _alike(word: str, other: str) -> float:
    """Return 1 for equal words, less for a typing error, and 0 for different words."""
    if word == other:
        return 1.0
    return 0.0 if min(len(word), len(other)) < 4 else 0.9 * _ratio(word, other, _WORD_TYPO)


def _ratio(some: str, other: str, least: float) -> float:
    """Return the share of letters that two strings have in common in order, or 0 if it is below `least`."""
    if 2 * min(len(some), len(other)) < least * (len(some) + len(other)):
        return 0.0
    matcher = difflib.SequenceMatcher(None, some, other, autojunk=False)
    ratio = matcher.ratio() if matcher.quick_ratio() >= least else 0.0
    return ratio if ratio >= least else 0.0
