"""What in a query is meant to the letter: quoted phrases, and words that have the shape of a name in code.

Prose has none: `and/or`, `two-dimensional`, `e.g.`, NASA, McDonald, the first word of a sentence.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from search.retrieval.match import parse_query
from search.retrieval.scripts import RUN, has_token, is_unspaced, words_of
from search.retrieval.stopwords import content_terms

#: Of the list of exact matches in the fusion, for a query that is a name and nothing else. Of 200 names the
#: documentation was among the first three for 96.5 % with 3, 98 % with 10 and 98.5 % with 30.
EXACT_WEIGHT: Final = 10.0
# Other words of the query with which the weight is half of that.
_HALF_AT_WORDS = 2
#: Names of one query that are looked for; each is a search of its own.
MAX_TERMS: Final = 8
#: Characters of one of them; a longer one is no name.
MAX_CHARS: Final = 200

# Names are looked for in the first characters of a query only: in a pasted page everything is quoted.
_READ_CHARS = 4_000
# Between quotes of any kind, or a tag of markup, which is a name as it is: `<Image />`.
_QUOTED = re.compile(
    '"([^"]+)"|[“„]([^“”„]+)[“”]|«([^«»]+)»|「([^「」]+)」|`([^`]+)`|(?<!\\w)(<[A-Za-z][\\w.:-]*\\s*/?>)'
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
            r"^/[A-Za-z][\w:+-]+$",
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
_MIN_CHARS = 3
_WORD = re.compile(r"[A-Za-z]\w{0,63}", re.ASCII)
_SURNAME = re.compile(r"Ma?c[A-Z][a-z]{2,}")


def exact_terms(text: str) -> tuple[str, ...]:
    """Give the quoted phrases and names of a query in order, each once, at most 8; none of a raw query."""
    if parse_query(text).raw is not None:
        return ()
    found = (term for term in _terms(text[:_READ_CHARS]) if len(term) <= MAX_CHARS and has_token(term))
    return tuple(islice(dict.fromkeys(found), MAX_TERMS))


def exact_weight(text: str) -> float:
    """Give the weight of the list of exact matches of `text`: the more other words, the less.

    `10 / (1 + (words / 2)³)`: one to three other words say more of the name that is asked for, and in a
    sentence a name is one of its words. SciFact asks about genes, which are written like names in code: there
    the full weight takes 0.08 off the nDCG@10 of the 83 queries that have one, this one adds 0.007.
    """
    named = set(words_of(" ".join(exact_terms(text))))
    others = (
        [word for word in content_terms(words_of(text[:_READ_CHARS])) if word not in named] if named else []
    )
    # A run of a script without spaces is a word for each two of its signs.
    count = sum(len(word) / 2 if is_unspaced(word[0]) else 1 for word in others)
    return EXACT_WEIGHT / (1.0 + (count / _HALF_AT_WORDS) ** 3)


def lone_name(text: str) -> str | None:
    """Give the word that is the whole query: a name where headings or code have it as one, like `strtoul`."""
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
    """Say whether `word` looks like the name of something in code, not like a word of a language."""
    if not _MIN_CHARS <= len(word) <= MAX_CHARS or not _LETTER.search(word) or _SURNAME.fullmatch(word):
        return False
    return any(shape.search(word) for shape in _SHAPES) or _is_dotted(word)


def _is_dotted(word: str) -> bool:
    """`os.path` and `next.js`; not `U.S` and `Ph.D`."""
    return _DOTTED.search(word) is not None and max(map(len, word.split("."))) >= _MIN_CHARS
