"""What in a query is meant to the letter: quoted phrases, and words that have the shape of a name in code.

Prose has none: `and/or`, `two-dimensional`, `e.g.`, NASA, McDonald, the first word of a sentence. A word with
a number, `sha256`, is a name where it is the whole query.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from search.retrieval.query.match import parse_query
from search.retrieval.query.stopwords import content_terms
from search.retrieval.text.unicode_scripts import RUN, has_token, is_unspaced, words_of

#: Weight of the list of exact matches in the fusion for a query that is names and nothing else. Below
#: `2 (k + 2)`, k being 60, its first place would not always come before its second where that one is first in
#: both other lists.
ALONE_WEIGHT: Final = 130.0
#: The same for a query with other words, before they take from it; and for a lone word that may be a name.
BESIDE_WEIGHT: Final = 10.0
# Other words with which half of that is left.
_HALF_AT_WORDS = 2
#: Names of one query that are looked for; each is a search of its own.
MAX_TERMS: Final = 5
#: Characters of one of them; a longer one is no name.
MAX_CHARS: Final = 200

# Names are looked for in the first characters of a query only: in a pasted page everything is quoted.
_READ_CHARS = 4_000
# Between quotes of any kind; or names with signs that others end at: a tag like `<Image />`, an operator.
_QUOTED = re.compile(
    '"([^"]+)"|[“„]([^“”„]+)[“”]|«([^«»]+)»|「([^「」]+)」|`([^`]+)`|(?<!\\w)(<[A-Za-z][\\w.:-]*\\s*/?>)'
    r"|(?<!\S)((?:[\w<>]+::)*operator(?:[-+*/%^&|~!=<>]{1,3}|\(\)|\[\])(?!\S))"
)
# A run up to white space or what encloses and separates names; `()` behind it makes a function of any word.
_RUN = re.compile(
    r"(?P<name>(?:[^\s\"'`“”„‘’«»()\[\]{}<>,;=|\u3000-\u303f\uff01-\uff20\uff3b-\uff65]|<[\w:]+>(?=::))+)"
    r"(?P<call>\(\))?"
)
_EDGES = ".:!?…*-+/&^%"
# What may begin a name: an option, a decorator, a directive, a file.
_BEGINS = re.compile(r"--?(?=[A-Za-z])|/(?=[A-Za-z])|[@#.$~](?=[A-Za-z_])")
_SHAPES: Final = tuple(
    map(
        re.compile,
        (
            r"[\w>](?:::|->|@)\w",
            r"[^\W_]_|_[^\W_]",
            r"^--[A-Za-z]",
            r"^-\w*[\d-]\w",
            r"^/(?:[A-Z]|[A-Za-z][\w:+-]+)$",
            r"/.*/",
            r"^[@#.$~][A-Za-z]\w",
            r"[A-Za-z]\w*[#:][A-Za-z]",
            r"[a-z]\d*[A-Z]|[A-Z]{2}[a-z]{2}",
            r"^[A-Z]+\d[A-Z\d]+$|^[A-Z]{2,}\d$",
        ),
    )
)
_LETTER = re.compile("[A-Za-z]")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_MIN_CHARS = 2
# The longest part of `e.g`, `U.S` and `Ph.D`, and a letter more.
_MIN_DOTTED_CHARS = 3
_WORD = re.compile(r"[A-Za-z]\w{0,63}", re.ASCII)
# In a sentence it is a unit or a gene as well.
_NUMBERED = re.compile(r"[A-Za-z]+\d\w{0,63}", re.ASCII)
_SURNAME = re.compile(r"Ma?c[A-Z][a-z]{2,}")


def exact_terms(text: str) -> tuple[str, ...]:
    """Return the quoted phrases and names of a query in order, each once, at most 5; none of a raw query."""
    if text.lstrip().startswith("'") and parse_query(text).raw is not None:
        return ()
    alone = text.strip()
    terms = (alone,) if _NUMBERED.fullmatch(alone) else _terms(text[:_READ_CHARS])
    found = (term for term in terms if len(term) <= MAX_CHARS and has_token(term))
    return tuple(islice(dict.fromkeys(found), MAX_TERMS))


def exact_weight(text: str, names: Sequence[str]) -> float:
    """Return the weight of the list of exact matches of `names`: the more other words `text` has, the less.

    `10 / (1 + (words / 2)³)`: one to three other words say more of the name that is asked for, and in a
    sentence a name is one of its words. SciFact asks about genes, which are written like names in code: there
    ten at all times took 0.08 off the nDCG@10 of the 83 queries that have one, this adds 0.006.
    """
    named = set(words_of(" ".join(names)))
    others = [word for word in content_terms(words_of(text[:_READ_CHARS])) if word not in named]
    if not others:
        return ALONE_WEIGHT
    # A run of a script without spaces is a word for each two of its signs.
    count = sum(len(word) / 2 if is_unspaced(word[0]) else 1 for word in others)
    return BESIDE_WEIGHT / (1.0 + (count / _HALF_AT_WORDS) ** 3)


def lone_name(text: str) -> str | None:
    """Return the word that is the whole query: a name where headings or code have it as one, like
    `strtoul`.
    """
    word = text.strip()
    return word if _WORD.fullmatch(word) else None


def _terms(text: str) -> Iterator[str]:
    end = 0
    for quoted in _QUOTED.finditer(text):
        yield from _names(text[end : quoted.start()])
        yield " ".join(quoted[quoted.lastindex or 0].split())
        end = quoted.end()
    yield from _names(text[end:])


def _names(prose: str) -> Iterator[str]:
    for run in _RUN.finditer(RUN.sub(_spaced, prose)):
        name = _trimmed(run["name"])
        if name and (run["call"] or is_name_shaped(name)):
            yield name + (run["call"] or "")


def _spaced(run: re.Match[str]) -> str:
    """Put a space where a script without spaces ends a name."""
    return " " if is_unspaced(run[0][0]) else run[0]


def _trimmed(run: str) -> str:
    start = _BEGINS.match(run)
    return (start[0] if start else "") + run[start.end() if start else 0 :].strip(_EDGES)


def is_name_shaped(word: str) -> bool:
    """Return whether `word` looks like the name of something in code, not like a word of a language."""
    if not _MIN_CHARS <= len(word) <= MAX_CHARS or not _LETTER.search(word) or _SURNAME.fullmatch(word):
        return False
    return any(shape.search(word) for shape in _SHAPES) or _is_dotted(word)


def _is_dotted(word: str) -> bool:
    """`os.path` and `next.js`; not `U.S` and `Ph.D`."""
    return _DOTTED.search(word) is not None and max(map(len, word.split("."))) >= _MIN_DOTTED_CHARS
