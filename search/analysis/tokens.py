"""Tokenization of texts, for the index and for queries."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

from search.analysis.numbers import WrittenNumber, code_terms, find_numbers, written_numbers
from search.analysis.words import (
    UNSTEMMED,
    Part,
    borders_of,
    is_measure,
    parts_of,
    whole_terms,
    without_symbols,
)
from search.retrieval.query.match_units import MAX_POSITIONS
from search.retrieval.query.stopwords import language_of
from search.retrieval.text.unicode_scripts import (
    ASCII_RUN,
    BETWEEN_THOUSANDS,
    HYPHENS,
    RUN,
    fold,
    is_unspaced,
    split_graphemes,
)

_DOT: Final = "."
#: What may stand between the parts of a joined form; a line break stands between characters.
JOINTS: Final = HYPHENS | BETWEEN_THOUSANDS
_DIGITS_OF_GROUP = 3
# `state-of-the-art` is no single word.
_MOST_PARTS = 3
_MOST_CHARS = 40
# What may surround a line break.
_BLANKS = " \t\r\u3000"


def joined_forms(runs: Sequence[str], separators: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the joined forms in a text: the indexes of the first and the last run, and the form.

    `separators` are the texts between the runs, one fewer than these. The form of a Chinese or Japanese line
    break is the pair of characters around it, and both indexes are those of the run before.
    """
    last = 0
    for at, separator in enumerate(separators):
        if separator in JOINTS:
            if at >= last:
                last = _last_of_chain(separators, at)
                form = _join(runs[at : last + 1], separator)
                if form is not None:
                    yield at, last, form
        elif "\n" in separator and _is_within_word(runs[at], separator, runs[at + 1]):
            pair = split_graphemes(runs[at])[-1], split_graphemes(runs[at + 1])[0]
            yield at, at, "".join(map(fold, pair))


def joined_form(runs: Sequence[str], separators: Sequence[str]) -> str | None:
    """Return the joined form of all of `runs`; None if they aren't the parts of one word."""
    found = next(joined_forms(runs, separators), None)
    return found[2] if found is not None and found[:2] == (0, len(runs) - 1) and len(runs) > 1 else None


def _last_of_chain(separators: Sequence[str], at: int) -> int:
    """Return the index of the last run of the chain whose first separator is at `at`."""
    first = separators[at]
    kind = HYPHENS if first in HYPHENS else {first}
    while at < len(separators) and separators[at] in kind:
        at += 1
    return at


def _join(parts: Sequence[str], separator: str) -> str | None:
    form = "".join(parts)
    if not form.isalnum() or len(form) > _MOST_CHARS or is_unspaced(form[0]):
        return None
    if all(part.isdecimal() for part in parts):
        is_grouped = separator in BETWEEN_THOUSANDS and len(parts[0]) <= _DIGITS_OF_GROUP
        return form if is_grouped and all(len(part) == _DIGITS_OF_GROUP for part in parts[1:]) else None
    if separator == _DOT:
        return form if all(len(part) == 1 and part.isalpha() for part in parts) else None
    return form if separator in HYPHENS and len(parts) <= _MOST_PARTS else None


def _is_within_word(before: str, separator: str, after: str) -> bool:
    """Return whether a line break stands between characters of an unspaced script."""
    return separator.strip(_BLANKS) == "\n" and is_unspaced(before[0]) and is_unspaced(after[0])


#: A token in the form for FTS5: UTF-8 byte offsets of start and end, the main term, then other terms at the
#: same position.
Token = tuple[Any, ...]

# A chunk is analysed twice in succession, for the postings and by FTS5, column by column.
_RECENT_TEXTS = 4
# Number of first words from which the language of a text is detected.
_LANGUAGE_WORDS = 64
# Enough for the words of a large workspace in all its languages; some 20 MB when full.
_MAX_CACHED_RUNS = 65_536
_MAX_CACHED_CHARS = 40
# Words of snippets that may match a query.
_MAX_CACHED_WORDS = 8_192
# A search reads the terms of its query some four times, and in each of several workspaces again.
_MAX_CACHED_TERMS = 1_024
_NUMBER: Final = re.compile(r"\d[0-9A-Za-z]*")
# The same for pure ASCII text, faster.
_ASCII_NUMBER: Final = re.compile("[0-9][A-Za-z0-9]*")


class _RunCache(dict[str, str | tuple[Part, ...]]):
    """A cache of the tokens of each run in one language; just the term if there is only one."""

    def __init__(self, language: str | None) -> None:
        self._language = language

    def __missing__(self, run: str) -> str | tuple[Part, ...]:
        parts = parts_of(run, self._language)
        if not run.isalpha() and (terms := code_terms(run)):
            parts = _add_terms(run, parts, False, terms)
        found: str | tuple[Part, ...] = parts
        if len(parts) == 1 and len(parts[0]) == 3:
            found = parts[0][2]
        if len(run) <= _MAX_CACHED_CHARS:
            _run_caches.make_room()
            self[run] = found
        return found


class _RunCaches(dict[str | None, _RunCache]):
    """The caches by language. Threads share them without a lock: each step is atomic."""

    def __missing__(self, language: str | None) -> _RunCache:
        return self.setdefault(language, _RunCache(language))

    def make_room(self) -> None:
        """Empty all caches if they are full together."""
        caches = list(self.values())
        if sum(map(len, caches)) >= _MAX_CACHED_RUNS:
            for each in caches:
                each.clear()


_run_caches = _RunCaches()


@lru_cache(maxsize=_RECENT_TEXTS)
def analyse(text: str, *, is_stemmed: bool = True) -> tuple[Token, ...]:
    """Return the tokens of `text` in order, with UTF-8 byte offsets.

    A run of an unspaced script yields its overlapping character bigrams, then its last character. Words are
    stemmed in the language detected from the text's function words, and in English; or not at all.
    """
    is_ascii = text.isascii()
    pieces = (ASCII_RUN if is_ascii else RUN).split(text)
    lengths = map(len, pieces) if is_ascii else map(len, map(str.encode, pieces))
    borders = list(accumulate(lengths))
    runs = pieces[1::2]
    language = language_of(map(str.lower, runs[:_LANGUAGE_WORDS])) if is_stemmed else UNSTEMMED
    stems = None if language == "en" else language
    found = list(map(_run_caches[stems].__getitem__, runs))
    separators = pieces[2:-1:2]
    if not JOINTS.isdisjoint(separators) or not is_ascii:
        for first, last, form in joined_forms(runs, separators):
            found[first] = _add_terms(runs[first], found[first], first == last, _form_terms(form, stems))
    for each in _numbers_of(text, pieces, borders if is_ascii else None, language):
        found[each.first] = _add_terms(runs[each.first], found[each.first], False, each.terms)
    return tuple(_flatten(list(zip(borders[::2], borders[1::2], found, strict=False)), found))


def _numbers_of(
    text: str, pieces: Sequence[str], borders: Sequence[int] | None, language: str | None
) -> Iterator[WrittenNumber]:
    """Return the numbers in parts among the runs of a text, which are every second one of its pieces.

    `borders` are the ends of the pieces in characters, if known.
    """
    number = _NUMBER if borders is None else _ASCII_NUMBER
    places = [each.start() for each in number.finditer(text)]
    if not places:
        return iter(())
    starts = (borders or list(accumulate(map(len, pieces))))[::2]
    candidates = [bisect_right(starts, place) - 1 for place in places]
    return written_numbers(pieces[1::2], pieces[2:-1:2], candidates, language)


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _form_terms(form: str, language: str | None) -> tuple[str, ...]:
    """Return the terms of a joined form; a pair of characters is one."""
    return (form,) if is_unspaced(form[0]) else whole_terms(form, language)


def _add_terms(
    run: str, found: str | tuple[Part, ...], is_last: bool, terms: tuple[str, ...]
) -> tuple[Part, ...]:
    """Return the tokens of a run with `terms` added to its first token, or to its last."""
    parts = list(found if isinstance(found, tuple) else ((0, len(run.encode()), found),))
    at = -1 if is_last else 0
    start, end, *before = parts[at]
    parts[at] = (start, end, *dict.fromkeys((*before, *terms)))
    return tuple(parts)


def _flatten(tokens: list[Token], found: list[str | tuple[Part, ...]]) -> list[Token]:
    """Return the tokens with each run of several tokens replaced by these."""
    flat: list[Token] = []
    after = 0
    for at in [at for at, of_run in enumerate(found) if of_run.__class__ is not str]:
        start, _, parts = tokens[at]
        flat += tokens[after:at]
        flat += [(start + low, start + high, *terms) for low, high, *terms in parts]
        after = at + 1
    return flat + tokens[after:]


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def word_tokens(word: str, language: str | None) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """Return the tokens of a single word: code-point offsets of start and end, and the terms."""
    parts = parts_of(word, None if language == "en" else language)
    if word.isascii():
        return tuple([(low, high, tuple(terms)) for low, high, *terms in parts])
    octets = accumulate(map(len, map(str.encode, word)), initial=0)
    places = dict(zip(octets, range(len(word) + 1), strict=True))
    return tuple([(places[low], places[high], tuple(terms)) for low, high, *terms in parts])


@lru_cache(maxsize=_MAX_CACHED_TERMS)
def query_terms(term: str, language: str | None = None) -> tuple[tuple[str, ...], ...]:
    """Return the alternative index terms at each position of the phrase of `term`; empty if it has none.

    A single word is searched as a whole (`rateLimit`, `C++`), a number with its unit or name in two parts, a
    run of an unspaced script by its bigrams. A phrase is cut after 128 positions.
    """
    *before, last = RUN.findall(term) or [""]
    if not last:
        return ()
    if not before and not is_unspaced(last[0]) and not is_measure(last):
        return (whole_terms(last, language),)
    stems = language if language == UNSTEMMED else None
    positions = [(part[2],) for run in [*before, last] for part in parts_of(run, stems)]
    # The text may continue after the last run; its last character is then part of a bigram.
    is_within = is_unspaced(last[0]) and len(split_graphemes(last)) > 1
    return tuple(positions[:-1] if is_within else positions)[:MAX_POSITIONS]


def joined_tokens(text: str, language: str | None) -> list[tuple[int, int, tuple[str, ...]]]:
    """Return the words of `text` that are written in parts: offsets of start and end, and the terms.

    The offsets are in code points.
    """
    pieces = RUN.split(text)
    borders = list(accumulate(map(len, pieces)))
    stems = None if language == "en" else language
    found = [
        (first, last, whole_terms(form, stems))
        for first, last, form in joined_forms(pieces[1::2], pieces[2:-1:2])
        if first < last
    ]
    found += [(each.first, each.last, each.terms) for each in _numbers_of(text, pieces, None, language)]
    return [(borders[2 * first], borders[2 * last + 1], terms) for first, last, terms in found]


def joined_terms(term: str, language: str | None = None) -> tuple[str, ...]:
    """Return the index terms of `term` as a whole if it is written in parts, as `e-mail`; else none."""
    if term.isalpha():
        return ()
    form = _joined_form(term)
    terms = () if form is None else whole_terms(form, language)
    numbers = [each for _, _, each in find_numbers(term)]
    if len(numbers) == 1 and len(RUN.findall(term)) == numbers[0].last - numbers[0].first + 1:
        return (*terms, *numbers[0].readings)
    return terms


def _joined_form(term: str) -> str | None:
    if term.isalnum():
        return None
    pieces = RUN.split(term)
    return joined_form(pieces[1::2], pieces[2:-1:2])


def number_terms(text: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """Return the numbers in parts of a query: start and end in characters, and their index terms."""
    return [(start, end, number.readings) for start, end, number in find_numbers(text)]


def query_tokens(term: str, language: str | None = None) -> tuple[str, ...]:
    """Return the main index term at each position of the phrase of `term`."""
    return tuple(alternatives[0] for alternatives in query_terms(term, language))


def is_prefix(term: str) -> bool:
    """Return whether `term` ends in a single unspaced character, which matches the start of a bigram."""
    last = "" if term.isascii() else (RUN.findall(term) or [""])[-1]
    return bool(last) and is_unspaced(last[0]) and len(split_graphemes(last)) == 1


@lru_cache(maxsize=_MAX_CACHED_TERMS)
def relaxed_terms(term: str) -> tuple[str, ...]:
    """Return the smaller terms for a wider search than `term`: its words, their parts and bigrams.

    The first one of `e-mail` is `email`.
    """
    form = _joined_form(term)
    smaller = [piece for run in RUN.findall(term) for piece in _split_run(run)]
    return tuple(dict.fromkeys((form, *smaller) if form is not None else smaller))


def _split_run(run: str) -> list[str]:
    if is_unspaced(run[0]):
        characters = split_graphemes(run)
        return [characters[at] + characters[at + 1] for at in range(len(characters) - 1)] or characters
    word = without_symbols(run)
    parts = [word[low:high] for low, high in borders_of(word)]
    return [run, *parts] if [run] != parts else parts
