"""The analyses that a workspace may choose: with stems, or with unstemmed words.

Index terms of a query pass through FTS5 as encoded text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from search.analysis import tokens
from search.analysis.tokens import Token
from search.analysis.words import UNSTEMMED

# Markers of an encoded phrase: control characters, which no user types.
_ANALYSED, _NEXT_POSITION, _ALTERNATIVE = "\x1d", "\x1e", "\x1f"


def encode_phrase(positions: Sequence[Sequence[str]]) -> str:
    """Return the FTS5 string for a phrase of index terms, with the alternatives at each position."""
    terms = _NEXT_POSITION.join(_ALTERNATIVE.join(alternatives) for alternatives in positions)
    return f'"{_ANALYSED}{terms}"'


def decode_phrase(text: str) -> list[tuple[str, ...]] | None:
    """Return the positions encoded by `encode_phrase`; None for any other text."""
    if not text.startswith(_ANALYSED):
        return None
    return [tuple(position.split(_ALTERNATIVE)) for position in text[1:].split(_NEXT_POSITION)]


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysis of texts and query terms; either STEMMED or UNSTEMMED_WORDS."""

    #: The tokenizer name in FTS5.
    tokenizer: str
    is_stemmed: bool
    #: In which a query of unknown language is stemmed, as `stems.languages_of` returns them.
    languages: str | None = None

    def analyse(self, text: str) -> tuple[Token, ...]:
        """See `tokens.analyse`."""
        return tokens.analyse(text) if self.is_stemmed else tokens.analyse(text, is_stemmed=False)

    def word_tokens(
        self, word: str, language: str | None = None
    ) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
        """See `tokens.word_tokens`."""
        return tokens.word_tokens(word, language if self.is_stemmed else UNSTEMMED)

    def query_terms(self, term: str, language: str | None = None) -> tuple[tuple[str, ...], ...]:
        """See `tokens.query_terms`."""
        return tokens.query_terms(term, (language or self.languages) if self.is_stemmed else UNSTEMMED)

    def joined_tokens(self, text: str, language: str | None = None) -> list[tuple[int, int, tuple[str, ...]]]:
        """See `tokens.joined_tokens`."""
        return tokens.joined_tokens(text, language if self.is_stemmed else UNSTEMMED)

    def joined_terms(self, term: str, language: str | None = None) -> tuple[str, ...]:
        """See `tokens.joined_terms`."""
        return tokens.joined_terms(term, (language or self.languages) if self.is_stemmed else UNSTEMMED)

    def number_terms(self, text: str) -> list[tuple[int, int, tuple[str, ...]]]:
        """See `tokens.number_terms`."""
        return tokens.number_terms(text)

    def query_tokens(self, term: str) -> tuple[str, ...]:
        """See `tokens.query_tokens`."""
        return tokens.query_tokens(term, None if self.is_stemmed else UNSTEMMED)

    def is_prefix(self, term: str) -> bool:
        """See `tokens.is_prefix`."""
        return tokens.is_prefix(term)

    def relaxed_terms(self, term: str) -> tuple[str, ...]:
        """See `tokens.relaxed_terms`."""
        return tokens.relaxed_terms(term)

    def encode_phrase(self, positions: Sequence[Sequence[str]]) -> str:
        """See `phrases.encode_phrase`."""
        return encode_phrase(positions)


STEMMED: Final = Analysis("kebab", True)
UNSTEMMED_WORDS: Final = Analysis("kebab_words", False)
#: In the order of their numbers in mirror files.
ANALYSES: Final = (STEMMED, UNSTEMMED_WORDS)
