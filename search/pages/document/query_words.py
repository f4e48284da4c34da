"""Marks on the words of a query in a document's HTML."""

import re
from functools import cache, cached_property
from html import unescape
from typing import Final

from django.utils.safestring import SafeString, mark_safe

from search.analysis.stems import ALIASES, LANGUAGE_STEMMERS
from search.analysis.words import parts_of
from search.retrieval.query.stopwords import is_stop_word
from search.retrieval.text.unicode_scripts import RUN, fold, is_unspaced

#: Words of the query that are marked, and their longest beginning that a marked word shares.
_MAX_WORDS: Final = 32
_STEM_CHARS: Final = 3
#: Marks on one page: on pages of one word, more of them tell nothing.
_MAX_MARKS: Final = 1_000
#: An element's tag, which is left alone, or text.
_PIECE: Final = re.compile(r"<[^>]*>|[^<]+")
#: What is no word of the text: an excluded word, the key of a filter.
_OPERATOR: Final = re.compile(r"(?<!\S)(?:-\S+|\w+:)")


class QueryWords:
    """The words of a query, in any of their forms in a document's language."""

    def __init__(self, query: str, language: str) -> None:
        code = ALIASES.get(language, language)
        self._language = code if code in LANGUAGE_STEMMERS else None
        words = RUN.findall(_OPERATOR.sub(" ", query))[:_MAX_WORDS]
        telling = [word for word in words if not is_stop_word(word, code)] or words
        self._terms = {term for word in telling if not is_unspaced(word[0]) for term in self._terms_of(word)}
        self._runs = sorted((word for word in telling if is_unspaced(word[0])), key=len, reverse=True)
        self._has_term = cache(self._has_any_term)
        self._marks = 0

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        return tuple({term[:_STEM_CHARS] for term in self._terms})

    def mark(self, html: str) -> SafeString:
        """Return the HTML with `mark` elements around the words, outside of tags. It must be well-formed."""
        if not self._terms and not self._runs:
            return mark_safe(html)  # noqa: S308  it is the caller's HTML
        marked = "".join(
            piece if piece.startswith("<") else self._mark_text(piece) for piece in _PIECE.findall(html)
        )
        return mark_safe(marked)  # noqa: S308  only `mark` elements are added

    def _mark_text(self, text: str) -> str:
        return (
            RUN.sub(self._mark_word, text) if "&" not in text else _ENTITY_OR_RUN.sub(self._mark_word, text)
        )

    def _mark_word(self, found: re.Match[str]) -> str:
        word = found[0]
        if word.startswith("&") or self._marks >= _MAX_MARKS:
            return word
        if is_unspaced(word[0]):
            return self._mark_run(word)
        if not self._has_term(word):
            return word
        self._marks += 1
        return f"<mark>{word}</mark>"

    def _mark_run(self, run: str) -> str:
        for wanted in self._runs:
            if wanted in run:
                self._marks += 1
                return run.replace(wanted, f"<mark>{wanted}</mark>")
        return run

    def _has_any_term(self, word: str) -> bool:
        return fold(word).startswith(self._beginnings) and not self._terms.isdisjoint(self._terms_of(word))

    def _terms_of(self, word: str) -> set[str]:
        return {term for _, _, *terms in parts_of(unescape(word), self._language) for term in terms}


_ENTITY_OR_RUN: Final = re.compile(f"&[#\\w]{{1,10}};|{RUN.pattern}")
