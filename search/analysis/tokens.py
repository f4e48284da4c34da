"""A text as tokens, for the index and for queries."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from search.analysis.words import Part, word_parts
from search.retrieval.scripts import ASCII_RUN, RUN, fold
from search.retrieval.stopwords import language_of

#: What stands at one position of a text, as FTS5 takes it: UTF-8 byte offsets of start and end, the main
#: term, then others that are found at the same position.
Token = tuple[Any, ...]

# A chunk is analysed twice in a row, for the postings and by FTS5, column by column.
_RECENT_TEXTS = 4
# So many of a text's first words tell its language.
_TELLING_WORDS = 100


@lru_cache(maxsize=_RECENT_TEXTS)
def analyse(text: str) -> tuple[Token, ...]:
    """Give the tokens of `text` in order, with UTF-8 byte offsets.

    A run of an unspaced script gives its overlapping pairs of signs, then its last sign. Words are stemmed
    in the language that the text's function words betray, and in English.
    """
    return tuple(_ascii_tokens(text) if text.isascii() else _tokens(text))


def _ascii_tokens(text: str) -> list[Token]:
    runs = [(run.start(), run[1], run[2]) for run in ASCII_RUN.finditer(text)]
    language = _language(word for _, word, _ in runs[:_TELLING_WORDS])
    return [
        (at + start, at + end, *terms)
        for at, word, suffix in runs
        for start, end, terms in word_parts(word, suffix, language)
    ]


def query_terms(term: str, language: str | None = None) -> tuple[tuple[str, ...], ...]:
    """Give the alternatives at each position of the phrase that `term` looks for; nothing: it finds nothing.

    A word alone is looked for as a whole (`rateLimit`, `C++`); a run of an unspaced script by its pairs.
    """
    runs = list(RUN.finditer(term))
    if len(runs) == 1 and runs[0]["word"]:
        return (_whole(runs[0]["word"], runs[0]["suffix"], language),)
    found: list[tuple[str, ...]] = []
    for run in runs:
        if run["word"]:
            found += (terms[:1] for _, _, terms in word_parts(run["word"], run["suffix"], None))
        else:
            found += ((pair,) for pair in pairs_of(run["unspaced"]))
    return tuple(found)


def query_tokens(term: str) -> tuple[str, ...]:
    """Give the main index term at each position of the phrase that `term` looks for."""
    return tuple(alternatives[0] for alternatives in query_terms(term))


def _whole(word: str, suffix: str | None, language: str | None) -> tuple[str, ...]:
    if suffix:
        return (fold(word) + suffix,)
    # A word in lower case has no parts: its terms are those of the whole.
    return word_parts(word.lower(), None, language)[0][2]


def pairs_of(run: str) -> list[str]:
    """Give the overlapping pairs of a run of an unspaced script; one sign is itself."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def is_prefix(term: str) -> bool:
    """Say whether `term` is one sign of an unspaced script: it is found at the start of a pair."""
    runs = list(RUN.finditer(term))
    return len(runs) == 1 and runs[0]["unspaced"] is not None and len(runs[0][0]) == 1


def _language(words: Iterable[str]) -> str | None:
    language = language_of(map(fold, words))
    return None if language == "en" else language


def _tokens(text: str) -> Iterator[Token]:
    runs = list(RUN.finditer(text))
    language = _language(run["word"] for run in runs[:_TELLING_WORDS] if run["word"])
    characters = octets = 0
    for run in runs:
        octets += len(text[characters : run.start()].encode())
        characters = run.start()
        if run["word"]:
            found: Sequence[Part] = word_parts(run["word"], run["suffix"], language)
        else:
            found = _unspaced_tokens(run["unspaced"])
        ends = list(accumulate((len(sign.encode()) for sign in run[0]), initial=0))
        for start, end, terms in found:
            yield octets + ends[start], octets + ends[end], *terms


def _unspaced_tokens(run: str) -> list[Part]:
    last = len(run) - 1
    return [*((at, at + 2, (run[at : at + 2],)) for at in range(last)), (last, last + 1, (run[last],))]
