"""A text as tokens, for the index and for queries."""

from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

from search.analysis.words import UNSTEMMED, Part, borders_of, parts_of, whole_terms, without_symbols
from search.retrieval.query.stopwords import language_of
from search.retrieval.text.unicode_scripts import ASCII_RUN, RUN, is_unspaced, signs_of

#: What stands at one position of a text, as FTS5 takes it: UTF-8 byte offsets of start and end, the main
#: term, then others that are found at the same position.
Token = tuple[Any, ...]

# A chunk is analysed twice in a row, for the postings and by FTS5, column by column.
_RECENT_TEXTS = 4
# So many of a text's first words tell its language.
_TELLING_WORDS = 64
# The words of a large workspace in all its languages together; some 20 MB when full.
_KNOWN_RUNS = 65_536
_LONGEST_KNOWN = 40


class _KnownRuns(dict[str, str | tuple[Part, ...]]):
    """The tokens of each run met so far, in one language: just the term where that is all."""

    #: How many are known in all languages.
    count = 0

    def __init__(self, language: str | None) -> None:
        self._language = language

    def __missing__(self, run: str) -> str | tuple[Part, ...]:
        parts = parts_of(run, self._language)
        found: str | tuple[Part, ...] = parts
        if len(parts) == 1 and len(parts[0]) == 3:
            found = parts[0][2]
        if len(run) <= _LONGEST_KNOWN:
            if _KnownRuns.count >= _KNOWN_RUNS:
                _known_runs.cache_clear()
                _KnownRuns.count = 0
            self[run] = found
            _KnownRuns.count += 1
        return found


_known_runs = cache(_KnownRuns)


@lru_cache(maxsize=_RECENT_TEXTS)
def analyse(text: str, *, is_stemmed: bool = True) -> tuple[Token, ...]:
    """Return the tokens of `text` in order, with UTF-8 byte offsets.

    A run of an unspaced script gives its overlapping pairs of signs, then its last sign. Words are stemmed
    in the language that the text's function words betray, and in English; or not at all.
    """
    is_ascii = text.isascii()
    pieces = (ASCII_RUN if is_ascii else RUN).split(text)
    lengths = map(len, pieces) if is_ascii else map(len, map(str.encode, pieces))
    borders = list(accumulate(lengths))
    runs = pieces[1::2]
    language = language_of(map(str.lower, runs[:_TELLING_WORDS])) if is_stemmed else UNSTEMMED
    found = list(map(_known_runs(None if language == "en" else language).__getitem__, runs))
    return tuple(_flat(list(zip(borders[::2], borders[1::2], found, strict=False)), found))


def _flat(tokens: list[Token], found: list[str | tuple[Part, ...]]) -> list[Token]:
    """Put the tokens of those runs that have more than a term in their places."""
    flat: list[Token] = []
    after = 0
    for at in [at for at, of_run in enumerate(found) if of_run.__class__ is not str]:
        start, _, parts = tokens[at]
        flat += tokens[after:at]
        flat += [(start + low, start + high, *terms) for low, high, *terms in parts]
        after = at + 1
    return flat + tokens[after:]


def query_terms(term: str, language: str | None = None) -> tuple[tuple[str, ...], ...]:
    """Return the alternatives at each position of the phrase that `term` looks for; nothing: it finds
    nothing.

    A word alone is looked for as a whole (`rateLimit`, `C++`); a run of an unspaced script by its pairs.
    """
    *before, last = RUN.findall(term) or [""]
    if not last:
        return ()
    if not before and not is_unspaced(last[0]):
        return (whole_terms(last, language),)
    stems = language if language == UNSTEMMED else None
    positions = [(part[2],) for run in [*before, last] for part in parts_of(run, stems)]
    # The text may go on after the last run: its last sign is then in a pair.
    is_within = is_unspaced(last[0]) and len(signs_of(last)) > 1
    return tuple(positions[:-1] if is_within else positions)


def query_tokens(term: str, language: str | None = None) -> tuple[str, ...]:
    """Return the main index term at each position of the phrase that `term` looks for."""
    return tuple(alternatives[0] for alternatives in query_terms(term, language))


def is_prefix(term: str) -> bool:
    """Return whether `term` ends in a lone sign of an unspaced script: it is found at the start of a pair."""
    last = (RUN.findall(term) or [""])[-1]
    return bool(last) and is_unspaced(last[0]) and len(signs_of(last)) == 1


def relaxed_terms(term: str) -> tuple[str, ...]:
    """Return the terms any of which is found where `term` isn't: its words, parts and pairs of signs."""
    return tuple(dict.fromkeys(piece for run in RUN.findall(term) for piece in _pieces(run)))


def _pieces(run: str) -> list[str]:
    if is_unspaced(run[0]):
        signs = signs_of(run)
        return [signs[at] + signs[at + 1] for at in range(len(signs) - 1)] or signs
    word = without_symbols(run)
    parts = [word[low:high] for low, high in borders_of(word)]
    return [run, *parts] if [run] != parts else parts
