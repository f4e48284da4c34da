"""FTS5 expressions of queries that are still being typed: stop words stay, the last term may be a prefix.

The expression is for the engine's raw form `'…'`. If the engine refuses it, `plain_terms` is used instead.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from search.analysis import is_prefix
from search.retrieval.query.parser import parse_query

#: Fewest characters of a last term that is searched as a prefix.
MIN_PREFIX_CHARS = 3
_PARENTHESES = str.maketrans("()", "  ")
_OPERATORS = frozenset({"AND", "OR", "NOT"})
# A phrase is enclosed by white space; any other run of characters is one term.
_PHRASE_OR_RUN = re.compile(r'"(?P<phrase>[^"]*)"(?P<star>\*?)(?!\S)|(?P<run>\S+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    text: str
    is_operator: bool = False


def add_prefix_star(text: str) -> str:
    """Return the query with parentheses and runs of white space as one space, and `*` after a long last term.

    `how to use hooks` → `how to use hooks*`; `ab` → `ab`; `react*` → `react*`; `foo (bar)` → `foo bar*`.
    """
    terms = text.translate(_PARENTHESES).split()
    if terms and len(terms[-1]) >= MIN_PREFIX_CHARS and not terms[-1].endswith("*"):
        terms[-1] += "*"
    return " ".join(terms)


def prefix_expression(text: str) -> str:
    """Return the FTS5 expression of an unfinished query; '' when it has no terms.

    Balanced "phrases", well-placed AND, OR and NOT, and a trailing `*` have their FTS5 meaning; every other
    term is quoted: `how to use hooks` → `"how" "to" "use" "hooks"*`. A single character of a script without
    spaces is a prefix at any position, because the index has such characters in pairs.
    """
    words = [
        word for match in _PHRASE_OR_RUN.finditer(add_prefix_star(text)) if (word := _word(match)) is not None
    ]
    return " ".join(_place_operators(words))


def is_operator(term: str) -> bool:
    """Return whether `term` is an FTS5 operator when well-placed."""
    return term in _OPERATORS


def plain_terms(text: str) -> str:
    """Return the terms without any syntax; in a plain query the engine quotes each of them."""
    terms = " ".join(text.translate(_PARENTHESES).replace("*", " ").split())
    return terms if parse_query(terms).raw is None else terms.replace("'", " ")


def _word(match: re.Match[str]) -> _Word | None:
    run = match["run"]
    if run is None:
        phrase = match["phrase"].strip()
        return _Word(text=_match_term(phrase, is_partial=bool(match["star"]))) if phrase else None
    if is_operator(run):
        return _Word(text=run, is_operator=True)
    term = run.rstrip("*")
    if not term:
        return None
    return _Word(text=_match_term(term, is_partial=run.endswith("*")))


def _match_term(term: str, *, is_partial: bool) -> str:
    return _quote(term) + ("*" if is_partial or is_prefix(term) else "")


def _place_operators(words: Sequence[_Word]) -> list[str]:
    """Return the words in order, with operators that aren't between two terms quoted as terms."""
    placed: list[str] = []
    follows_term = False
    for nth, word in enumerate(words):
        is_before_term = nth + 1 < len(words) and not words[nth + 1].is_operator
        is_operator = word.is_operator and follows_term and is_before_term
        placed.append(_quote(word.text) if word.is_operator and not is_operator else word.text)
        follows_term = not is_operator
    return placed


def _quote(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
