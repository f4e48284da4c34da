"""Chunks for a query that is still being typed: fitting headings, and texts that complete its last word."""

from collections.abc import Sequence
from dataclasses import dataclass

from search.analysis import Analysis, encode_phrase, is_prefix
from search.mirror.query.spelling import Vocabulary, terms_expression
from search.retrieval.code.definitions import SEPARATOR
from search.retrieval.query.match_units import quote_term
from search.retrieval.query.titles import breadcrumb_of
from search.retrieval.text.unicode_scripts import is_unspaced

# A stem may lack the end of the typed word: `installat` has to find `instal`.
_MIN_STEM_CHARS = 3
# Limit of chunks with fitting headings: nearly every chunk has a heading with a common word.
_HEADINGS = 400
# Number of the most common terms that complete the last word, and of chunks read for each.
_COMPLETIONS = 12
_SAMPLED = 2
# A single letter is a prefix of too many words.
_MIN_COMPLETED_CHARS = 2

_BELOW_HEADINGS = "SELECT chunk_id, breadcrumb FROM chunks_fts WHERE chunks_fts MATCH ? {clause} LIMIT ?"


@dataclass(frozen=True, slots=True)
class Outline:
    """A chunk's id with its title and headings."""

    chunk_id: str
    #: Title first.
    headings: tuple[str, ...]


def outlines(vocabulary: Vocabulary, words: Sequence[str]) -> list[Outline]:
    """Return chunks whose title or headings may have words that begin with `words`, folded and not empty."""
    analysis = vocabulary.analysis
    expression = " AND ".join(_prefix_expression(word, analysis) for word in words)
    values = (f"breadcrumb : ({expression})", _HEADINGS)
    statement = _BELOW_HEADINGS.format(clause=vocabulary.view.filter_clause)
    rows = vocabulary.connection.execute(statement, values)
    return [Outline(chunk_id, tuple(breadcrumb_of(headings).split(SEPARATOR))) for chunk_id, headings in rows]


def completions(vocabulary: Vocabulary, words: Sequence[str]) -> list[str]:
    """Return ids of chunks with all of `words`, the last as a prefix of common words."""
    *before, last = words
    if is_unspaced(last[0]) or len(last) < _MIN_COMPLETED_CHARS:
        return []
    analysis = vocabulary.analysis
    if before:
        expression = " AND ".join([*map(quote_term, before), _prefix_expression(last, analysis)])
        found = vocabulary.sample(expression, _COMPLETIONS * _SAMPLED)
    else:
        common = vocabulary.most_common_terms(last, _stems(last, analysis), _COMPLETIONS)
        found = [one for term in common for one in vocabulary.sample(terms_expression(term), _SAMPLED)]
    return list(dict.fromkeys(each.chunk_id for each in found))


def _prefix_expression(word: str, analysis: Analysis) -> str:
    """Return the FTS5 expression for the terms of words that begin with `word`."""
    if is_unspaced(word[0]):
        return quote_term(word) + (" *" if is_prefix(word) else "")
    return f"({terms_expression(word)} * OR {encode_phrase([_stems(word, analysis)])})"


def _stems(word: str, analysis: Analysis) -> list[str]:
    return [*analysis.query_tokens(word)[:1], *(word[:end] for end in range(_MIN_STEM_CHARS, len(word)))]
