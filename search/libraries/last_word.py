"""The last word while it is still being typed, where no index term begins so.

The index has stems and parts: `configuration` is `configur`, so that `configura*` finds nothing, and `next.j`
ends in a beginning too short to look for. Chunks with a shorter beginning of the word, or with its parts, are
looked through instead for a word that does begin so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from search.analysis import query_tokens, relaxed_terms
from search.libraries.prefix_match import MIN_PREFIX_CHARS, as_typed, is_operator
from search.retrieval.query.completion import Typed
from search.retrieval.query.match import quoted
from search.retrieval.text.unicode_scripts import RUN, fold, words_of

# No stem is so many letters shorter than its word: `-ization`, `-fulness`.
_STEMMED_CHARS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunWord:
    """A word that may go on, among chunks that may have it."""

    #: FTS5's, for the chunks to look through.
    expression: str
    #: As typed: one, or the parts of a compound, each once.
    words: tuple[str, ...]

    def begins_words_of(self, text: str) -> bool:
        """Return whether each of the words is the beginning of a word of `text`, or of an
        identifier's part.
        """
        runs = set(RUN.findall(text))
        return all(
            any(word in fold(run) and Typed(word).begins_words_of(run) for run in runs) for word in self.words
        )


def begun_word(text: str) -> BegunWord | None:
    """Return the last word of plain terms; None where it is too short, or the text has syntax of its own."""
    *before, last = as_typed(text).split() or [""]
    word = last.removesuffix("*")
    if last == word or any(_is_syntax(term) for term in (*before, word)):
        return None
    words = tuple(dict.fromkeys(words_of(word)))  # each is looked for in every word of 200 chunks
    if not words:
        return None
    either = " OR ".join(dict.fromkeys(_alternatives(word)))
    expression = " AND ".join([*map(quoted, before), f"({either})"])
    return BegunWord(expression=expression, words=words)


def _is_syntax(term: str) -> bool:
    return is_operator(term) or '"' in term or "*" in term


def _alternatives(word: str) -> Iterator[str]:
    yield from map(quoted, relaxed_terms(word))
    if len(words_of(word)) > 1:
        return  # it is found by the parts before the last
    shortest = max(MIN_PREFIX_CHARS, len(word) - _STEMMED_CHARS)
    for end in range(len(word) - 1, shortest - 1, -1):
        beginning = word[:end]
        # A stem may end in another letter than its word: `organis` is `organi`, `getUserBy` `getuserbi`.
        is_open = end == len(word) - 1 or query_tokens(beginning) != tuple(words_of(beginning))
        yield quoted(beginning) + ("*" if is_open else "")
