"""Spelling suggestions for a query without results, from words of the corpus that the caller may see."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import apsw

from search.mirror.query.spelling import Spelling, join_words, spellings
from search.mirror.query.view import MirrorView
from search.mirror.query.vocabulary import Vocabulary
from search.retrieval.query.parser import parse_query
from search.retrieval.query.stopwords import content_terms
from search.retrieval.text.unicode_scripts import RUN, fold, is_unspaced, words_of

#: Returns breadcrumb and text of the visible ones of the chunks, by id.
ReadPassages = Callable[[Sequence[str]], Mapping[str, tuple[str, str]]]

# Number of words of a query to look up; each takes a few milliseconds.
_MAX_WORDS = 4
_READ_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class _TypedWord:
    """One word of the query, or two neighbours, with its possible spellings."""

    start: int
    end: int
    spellings: Sequence[Spelling]


def suggest_query(view: MirrorView, text: str, read_passages: ReadPassages) -> str | None:
    """Return the query as it was probably meant; None if the corpus suggests nothing else.

    Call it if nothing matched. A word is replaced only by one of a visible chunk. Raises MirrorDamaged.
    """
    if parse_query(text).raw is not None:
        return None
    try:
        with view.limited_time():
            typed = list(_find_spellings(Vocabulary(view), text[:_READ_CHARS]))
    except apsw.InterruptError:
        return None
    chunk_ids = {id_ for each in typed for spelling in each.spellings for id_ in spelling.chunk_ids}
    visible = read_passages(sorted(chunk_ids)) if chunk_ids else {}
    suggestion = _apply_spellings(text, typed, visible)
    return None if fold(suggestion) == fold(text) else suggestion


def _find_spellings(vocabulary: Vocabulary, text: str) -> Iterator[_TypedWord]:
    """Return the spellings of word pairs, then of words, each in the order of the text."""
    runs = [run for run in RUN.finditer(text) if not is_unspaced(run[0][0])]
    content = set(content_terms([run[0] for run in runs]))
    words = [run for run in runs if run[0] in content][:_MAX_WORDS]
    for one, other in pairwise(words):
        if text[one.end() : other.start()] in (" ", "-"):
            yield _TypedWord(one.start(), other.end(), join_words(vocabulary, (one[0], other[0])))
    for word in words:
        yield _TypedWord(word.start(), word.end(), spellings(vocabulary, word[0]))


def _apply_spellings(text: str, typed: Sequence[_TypedWord], visible: Mapping[str, tuple[str, str]]) -> str:
    """Replace each word by its best visible spelling; pairs that are one word take precedence."""
    replacements: dict[tuple[int, int], str] = {}
    for each in typed:
        is_taken = any(start < each.end and each.start < end for start, end in replacements)
        best = next((one for one in each.spellings if _is_visible(one, visible)), None)
        if best is not None and not is_taken:
            replacements[each.start, each.end] = best.text
    for (start, end), spelling in sorted(replacements.items(), reverse=True):
        if fold(spelling) != fold(text[start:end]):
            text = text[:start] + spelling + text[end:]
    return text


def _is_visible(spelling: Spelling, visible: Mapping[str, tuple[str, str]]) -> bool:
    phrase = f" {fold(spelling.text)} "
    return any(
        phrase in f" {' '.join(words_of(' '.join(visible[id_])))} "
        for id_ in spelling.chunk_ids
        if id_ in visible
    )
