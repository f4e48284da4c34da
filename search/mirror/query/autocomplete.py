"""Chunks for what somebody is still typing: headings that may fit it, and texts that may complete it."""

from collections.abc import Sequence
from dataclasses import dataclass

from search.analysis import Analysis, analysed_phrase, is_prefix
from search.mirror.query.vocabulary import Vocabulary, of_terms
from search.retrieval.code.definitions import SEPARATOR
from search.retrieval.query.match import quoted
from search.retrieval.text.unicode_scripts import is_unspaced

# A stem may have lost the end of what was typed: `installat` is to find `instal`.
_MIN_STEM_CHARS = 3
# Chunks below headings with such words that are looked at: common words begin those of nearly every chunk.
_HEADINGS = 400
# The commonest terms that complete the last word, and the chunks that are read for one, or for all of them.
_COMPLETIONS = 12
_SAMPLED = 2
# One letter begins any word.
_MIN_COMPLETED_CHARS = 2

_BELOW_HEADINGS = "SELECT chunk_id, breadcrumb FROM chunks_fts WHERE chunks_fts MATCH ? {clause} LIMIT ?"


@dataclass(frozen=True, slots=True)
class Outline:
    """Where a chunk stands."""

    chunk_id: str
    #: Title first.
    headings: tuple[str, ...]


def outlines(vocabulary: Vocabulary, words: Sequence[str]) -> list[Outline]:
    """Give chunks whose title or headings may have words that begin with `words`, folded and not empty."""
    analysis = vocabulary.analysis
    expression = " AND ".join(_beginning(word, analysis) for word in words)
    clause = vocabulary.clause
    values = (f"breadcrumb : ({expression})", *clause.values, _HEADINGS)
    rows = vocabulary.connection.execute(_BELOW_HEADINGS.format(clause=clause.sql), values)
    return [Outline(chunk_id, tuple(breadcrumb.split(SEPARATOR))) for chunk_id, breadcrumb in rows]


def completions(vocabulary: Vocabulary, words: Sequence[str]) -> list[str]:
    """Give chunks with common words that begin with the last of `words`, and with the others as they are."""
    *before, last = words
    if is_unspaced(last[0]) or len(last) < _MIN_COMPLETED_CHARS:
        return []
    analysis = vocabulary.analysis
    if before:
        expression = " AND ".join([*map(quoted, before), _beginning(last, analysis)])
        found = vocabulary.sample(expression, _COMPLETIONS * _SAMPLED)
    else:
        common = vocabulary.commonest(last, _stems(last, analysis), _COMPLETIONS)
        found = [one for term in common for one in vocabulary.sample(of_terms(term), _SAMPLED)]
    return list(dict.fromkeys(each.chunk_id for each in found))


def _beginning(word: str, analysis: Analysis) -> str:
    """Return the expression of terms that words may have that begin with `word`."""
    if is_unspaced(word[0]):
        return quoted(word) + (" *" if is_prefix(word) else "")
    return f"({of_terms(word)} * OR {analysed_phrase([_stems(word, analysis)])})"


def _stems(word: str, analysis: Analysis) -> list[str]:
    return [*analysis.query_tokens(word)[:1], *(word[:end] for end in range(_MIN_STEM_CHARS, len(word)))]
