"""Prefix search for an unfinished last word that is no prefix of an index term.

The index has stems and parts: `configuration` is `configur`, so that `configura*` finds nothing, and `next.j`
ends in a prefix too short to search. Chunks with a shorter prefix of the word, or with its parts, are scanned
instead for a word with the prefix.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from search.analysis import query_tokens, relaxed_terms
from search.libraries.prefix_match import MIN_PREFIX_CHARS, add_prefix_star, is_operator
from search.retrieval.query.completion import TypedText
from search.retrieval.query.match_units import quote_term
from search.retrieval.text.unicode_scripts import RUN, fold, words_of

# The longest suffixes that stemming removes have this many letters: `-ization`, `-fulness`.
_STEMMED_CHARS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedWord:
    """An unfinished word and the expression of the chunks that may contain it."""

    #: FTS5 expression of the chunks to scan.
    expression: str
    #: As typed: one word, or the distinct parts of a compound.
    words: tuple[str, ...]

    def begins_words_of(self, text: str) -> bool:
        """Return whether each of the words is a prefix of a word of `text` or of a part of an identifier."""
        runs = set(RUN.findall(text))
        return all(
            any(word in fold(run) and TypedText(word).begins_words_of(run) for run in runs)
            for word in self.words
        )


def parse_unfinished_word(text: str) -> UnfinishedWord | None:
    """Return the last word of plain terms; None when it is too short or the text contains query syntax."""
    *before, last = add_prefix_star(text).split() or [""]
    word = last.removesuffix("*")
    if last == word or any(_is_syntax(term) for term in (*before, word)):
        return None
    words = tuple(dict.fromkeys(words_of(word)))  # each is compared with every word of 200 chunks
    if not words:
        return None
    either = " OR ".join(dict.fromkeys(_alternatives(word)))
    expression = " AND ".join([*map(quote_term, before), f"({either})"])
    return UnfinishedWord(expression=expression, words=words)


def _is_syntax(term: str) -> bool:
    return is_operator(term) or '"' in term or "*" in term


def _alternatives(word: str) -> Iterator[str]:
    yield from map(quote_term, relaxed_terms(word))
    if len(words_of(word)) > 1:
        return  # the parts before the last find it
    shortest = max(MIN_PREFIX_CHARS, len(word) - _STEMMED_CHARS)
    for end in range(len(word) - 1, shortest - 1, -1):
        beginning = word[:end]
        # A stem may end in a letter that the word lacks: `organis` is `organi`, `getUserBy` `getuserbi`.
        is_open = end == len(word) - 1 or query_tokens(beginning) != tuple(words_of(beginning))
        yield quote_term(beginning) + ("*" if is_open else "")
