"""What a person is still typing, as an FTS5 expression: stop words stay, the last term may be a beginning.

The expression is for the engine's raw form `'…'`. Where that is refused, `plain_terms` is asked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from search.analysis import is_prefix
from search.retrieval.query.match import parse_query

#: Characters from which on the last term is looked for as a beginning.
MIN_PREFIX_CHARS = 3
_PARENTHESES = str.maketrans("()", "  ")
_OPERATORS = frozenset({"AND", "OR", "NOT"})
# A phrase stands alone between white space; any other run of characters is one term.
_PHRASE_OR_RUN = re.compile(r'"(?P<phrase>[^"]*)"(?P<star>\*?)(?!\S)|(?P<run>\S+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    text: str
    is_operator: bool = False


def as_typed(text: str) -> str:
    """Return the query with parentheses and runs of white space as one space, and `*` behind a last term.

    `how to use hooks` → `how to use hooks*`; `ab` → `ab`; `react*` → `react*`; `foo (bar)` → `foo bar*`.
    """
    terms = text.translate(_PARENTHESES).split()
    if terms and len(terms[-1]) >= MIN_PREFIX_CHARS and not terms[-1].endswith("*"):
        terms[-1] += "*"
    return " ".join(terms)


def typed_expression(text: str) -> str:
    """Return the expression of what is being typed; '' when there is nothing to look for.

    Balanced "phrases", well-placed AND, OR and NOT, and a trailing `*` mean what they mean to FTS5; every
    other term is quoted: `how to use hooks` → `"how" "to" "use" "hooks"*`. A lone sign of a script without
    spaces is a beginning wherever it stands, as the index has its signs in pairs.
    """
    words = [word for match in _PHRASE_OR_RUN.finditer(as_typed(text)) if (word := _word(match)) is not None]
    return " ".join(_placed(words))


def is_operator(term: str) -> bool:
    """Return whether `term` is one of FTS5's, were it well-placed."""
    return term in _OPERATORS


def plain_terms(text: str) -> str:
    """Return the terms alone, without any syntax: as a plain query the engine quotes each of them."""
    terms = " ".join(text.translate(_PARENTHESES).replace("*", " ").split())
    return terms if parse_query(terms).raw is None else terms.replace("'", " ")


def _word(match: re.Match[str]) -> _Word | None:
    run = match["run"]
    if run is None:
        phrase = match["phrase"].strip()
        return _Word(text=_looked_for(phrase, is_begun=bool(match["star"]))) if phrase else None
    if is_operator(run):
        return _Word(text=run, is_operator=True)
    term = run.rstrip("*")
    if not term:
        return None
    return _Word(text=_looked_for(term, is_begun=run.endswith("*")))


def _looked_for(term: str, *, is_begun: bool) -> str:
    return _quoted(term) + ("*" if is_begun or is_prefix(term) else "")


def _placed(words: Sequence[_Word]) -> list[str]:
    """Return the words in order; an operator is one only between two terms, else it is a term itself."""
    placed: list[str] = []
    follows_term = False
    for nth, word in enumerate(words):
        is_before_term = nth + 1 < len(words) and not words[nth + 1].is_operator
        is_operator = word.is_operator and follows_term and is_before_term
        placed.append(_quoted(word.text) if word.is_operator and not is_operator else word.text)
        follows_term = not is_operator
    return placed


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
