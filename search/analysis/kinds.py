"""The analyses that a workspace may have: with stems, or with words as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from search.analysis import tokens
from search.analysis.phrases import analysed_phrase
from search.analysis.tokens import Token
from search.analysis.words import UNSTEMMED


@dataclass(frozen=True, slots=True)
class Analysis:
    """What an index does to texts, and to the terms of a query. There are STEMMED and UNSTEMMED_WORDS."""

    #: As an FTS5 table names it.
    tokenizer: str
    is_stemmed: bool

    def analyse(self, text: str) -> tuple[Token, ...]:
        """See `tokens.analyse`."""
        return tokens.analyse(text) if self.is_stemmed else tokens.analyse(text, is_stemmed=False)

    def query_terms(self, term: str, language: str | None = None) -> tuple[tuple[str, ...], ...]:
        """See `tokens.query_terms`."""
        return tokens.query_terms(term, language if self.is_stemmed else UNSTEMMED)

    def query_tokens(self, term: str) -> tuple[str, ...]:
        """See `tokens.query_tokens`."""
        return tokens.query_tokens(term, None if self.is_stemmed else UNSTEMMED)

    def is_prefix(self, term: str) -> bool:
        """See `tokens.is_prefix`."""
        return tokens.is_prefix(term)

    def relaxed_terms(self, term: str) -> tuple[str, ...]:
        """See `tokens.relaxed_terms`."""
        return tokens.relaxed_terms(term)

    def analysed_phrase(self, positions: Sequence[Sequence[str]]) -> str:
        """See `phrases.analysed_phrase`."""
        return analysed_phrase(positions)


STEMMED: Final = Analysis("kebab", True)
UNSTEMMED_WORDS: Final = Analysis("kebab_words", False)
#: In the order of the numbers that mirror files have for them.
ANALYSES: Final = (STEMMED, UNSTEMMED_WORDS)
