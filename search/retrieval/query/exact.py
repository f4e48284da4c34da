"""Exact terms of a query: quoted phrases, words that have the shape of a name in code, numbers in parts.

Words of prose are none: `and/or`, `two-dimensional`, `e.g.`, NASA, McDonald, the first word of a sentence. A
word with a number, `sha256`, is a name only if it is the whole query.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from search.retrieval.query.match_units import Analysis
from search.retrieval.query.parser import parse_query
from search.retrieval.query.stopwords import content_terms
from search.retrieval.text.unicode_scripts import RUN, has_token, is_unspaced, words_of

#: Weight of the list of exact matches in the fusion for a query of names alone. Below `2 (k + 2)`, k = 60,
#: the first exact match would not always rank above the second if that one is first in both other lists.
ALONE_WEIGHT: Final = 130.0
#: Weight for a query with other words, before they reduce it, and for a single word that may be a name.
MIXED_WEIGHT: Final = 10.0
# Least weight for a query with a number in parts.
_NUMBERED_WEIGHT: Final = 3.0
# Number of other words that halve the weight.
_HALF_AT_WORDS = 2
#: Maximum number of names of one query; each is a separate search.
MAX_TERMS: Final = 5
#: Maximum length of a name, in characters.
MAX_CHARS: Final = 200

# Only the start of a query is scanned for names, as a pasted page may quote everything.
_READ_CHARS = 4_000
# Text in quotes of any kind, or names with characters that delimit other names: `<Image />`, an operator.
_QUOTED = re.compile(
    '"([^"]+)"|[“„]([^“”„]+)[“”]|«([^«»]+)»|「([^「」]+)」|`([^`]+)`|(?<!\\w)(<[A-Za-z][\\w.:-]*\\s*/?>)'
    r"|(?<!\S)((?:[\w<>]+::)*operator(?:[-+*/%^&|~!=<>]{1,3}|\(\)|\[\])(?!\S))"
)
# A run up to white space or a delimiter; a word followed by `()` is a function.
_RUN = re.compile(
    r"(?P<name>(?:[^\s\"'`“”„‘’«»()\[\]{}<>,;=|\u3000-\u303f\uff01-\uff20\uff3b-\uff65]|<[\w:]+>(?=::))+)"
    r"(?P<call>\(\))?"
)
_EDGES = ".:!?…*-+/&^%"
# Prefixes of names: an option, a decorator, a directive, a file.
_BEGINS = re.compile(r"--?(?=[A-Za-z])|/(?=[A-Za-z])|[@#.$~](?=[A-Za-z_])")
_SHAPE: Final = re.compile(
    r"[\w>](?:::|->|@)\w"
    r"|[^\W_]_|_[^\W_]"
    r"|^--[A-Za-z]"
    r"|^-\w*[\d-]\w"
    r"|^/(?:[A-Z]|[A-Za-z][\w:+-]+)$"
    r"|/.*/"
    r"|^[@#.$~][A-Za-z]\w"
    r"|[A-Za-z]\w*[#:][A-Za-z]"
    r"|[a-z]\d*[A-Z]|[A-Z]{2}[a-z]{2}"
    r"|^[A-Z]+\d[A-Z\d]+$|^[A-Z]{2,}\d$"
)
_LETTER = re.compile("[A-Za-z]")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_MIN_CHARS = 2
# One more than the longest part of `e.g`, `U.S` and `Ph.D`.
_MIN_DOTTED_CHARS = 3
_WORD = re.compile(r"[A-Za-z]\w{0,63}", re.ASCII)
# Only for a whole query: in a sentence it may be a unit or a gene.
_NUMBERED = re.compile(r"[A-Za-z]+\d\w{0,63}", re.ASCII)
# A signature, as headings have it: `floor(duration)`.
_SIGNATURE = re.compile(r"[A-Za-z_][\w.:]*\([\w ,.:*&<>-]{1,80}\)", re.ASCII)
_SURNAME = re.compile(r"Ma?c[A-Z][a-z]{2,}")


def exact_terms(text: str) -> tuple[str, ...]:
    """Return the quoted phrases and names of a query in order, each once, at most 5; none of a raw query."""
    if text.lstrip().startswith("'") and parse_query(text).raw is not None:
        return ()
    alone = text.strip()
    is_name = _NUMBERED.fullmatch(alone) or _SIGNATURE.fullmatch(alone)
    terms = (alone,) if is_name else _find_terms(text[:_READ_CHARS])
    found = (term for term in terms if len(term) <= MAX_CHARS and has_token(term))
    return tuple(islice(dict.fromkeys(found), MAX_TERMS))


def number_names(text: str, analysis: Analysis) -> dict[str, tuple[str, ...]]:
    """Return the numbers in parts of a query as they are written, with their index terms; at most 5."""
    start = text[:_READ_CHARS]
    found = {terms: start[low:high] for low, high, terms in analysis.number_terms(start)}
    return {written: terms for terms, written in islice(found.items(), MAX_TERMS)}


def exact_weight(text: str, names: Sequence[str], numbers: Collection[str] = ()) -> float:
    """Return the weight of the list of exact matches of names and numbers; other words of `text` reduce it.

    `10 / (1 + (words / 2)³)`: one to three other words describe the searched name, but in a sentence the name
    is one word of many. In SciFact, with genes written like names in code, a constant 10 lowers the nDCG@10
    of the 83 queries that have one by 0.08; this formula raises it by 0.006. Numbers in parts have a least
    weight: whatever else is asked, another clause or day is the wrong one.
    """
    named = set(words_of(" ".join((*names, *numbers))))
    others = [word for word in content_terms(words_of(text[:_READ_CHARS])) if word not in named]
    if not others:
        return ALONE_WEIGHT
    # In a run of an unspaced script, two characters count as one word.
    count = sum(len(word) / 2 if is_unspaced(word[0]) else 1 for word in others)
    weight = MIXED_WEIGHT / (1.0 + (count / _HALF_AT_WORDS) ** 3)
    return max(weight, _NUMBERED_WEIGHT) if numbers else weight


def lone_name(text: str) -> str | None:
    """Return the word that is the whole query; headings or code may have it as a name, like `strtoul`."""
    word = text.strip()
    return word if _WORD.fullmatch(word) else None


def _find_terms(text: str) -> Iterator[str]:
    end = 0
    for quoted in _QUOTED.finditer(text):
        yield from _find_names(text[end : quoted.start()])
        yield " ".join(quoted[quoted.lastindex or 0].split())
        end = quoted.end()
    yield from _find_names(text[end:])


def _find_names(prose: str) -> Iterator[str]:
    for run in _RUN.finditer(RUN.sub(_separate_unspaced, prose)):
        name = _trim_name(run["name"])
        if name and (run["call"] or is_name_shaped(name)):
            yield name + (run["call"] or "")


def _separate_unspaced(run: re.Match[str]) -> str:
    """Replace a run of an unspaced script by a space, as it ends a name."""
    return " " if is_unspaced(run[0][0]) else run[0]


def _trim_name(run: str) -> str:
    start = _BEGINS.match(run)
    return (start[0] if start else "") + run[start.end() if start else 0 :].strip(_EDGES)


def is_name_shaped(word: str) -> bool:
    """Return whether `word` looks like the name of something in code, not like a word of a language."""
    if not _MIN_CHARS <= len(word) <= MAX_CHARS or not _LETTER.search(word) or _SURNAME.fullmatch(word):
        return False
    return _SHAPE.search(word) is not None or _is_dotted(word)


def _is_dotted(word: str) -> bool:
    """Return whether `word` is like `os.path` and `next.js`, not `U.S` and `Ph.D`."""
    return _DOTTED.search(word) is not None and max(map(len, word.split("."))) >= _MIN_DOTTED_CHARS
