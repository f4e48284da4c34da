"""Hostile values for the fields of a request: of a wrong type, too large, too many, or just past a limit."""

from random import Random
from typing import Any

from tests.drills.hostile.endpoints import Ground
from tests.drills.hostile.text import MAKERS, PASTE_CHARS

#: Makers of megabytes or thousands of terms, which are slow to make and to send: a few in a hundred.
RARE = {
    "paste": 0.02,
    "many_terms": 0.04,
    "long_token": 0.04,
    "raw_many": 0.04,
    "raw_nested": 0.04,
    "mixture": 0.04,
}
_EDGES = (
    *(0, -1, 1, 2, 1.5, -0.0, 1e-320, 1e308, 1_000, 1_001, 65_536),
    *(2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**18, 10**400, -(10**4_000)),
    *(
        "0",
        "-1",
        "+1",
        " 1 ",
        "1_0",
        "1.0",
        "1e3",
        "1e999",
        "0x10",
        "NaN",
        "-Infinity",
        "٣",
        "１",
        "²",
        "9" * 999,
    ),
)
_WRONG = (
    *(None, True, False, "", [], {}, [None], [[]], [{}], ["a", 1, None], {"a": 1}, {"": ""}, {"0": []}),
    *([True], "true", "null", "[]", "{}", "None", "object", {"non_field_errors": "x"}, {"\u202e": "\ud800"}),
)
_NAMES = (
    "lexical",
    "vector",
    "hybrid",
    "rrf",
    "convex",
    "HYBRID",
    "code",
    "info",
    "primary",
    "text",
    "txt",
    "json",
)
_IDS = (
    *("0" * 32, "f" * 32, "F" * 32, "0" * 31, "0" * 33, "g" * 32, "\u0660" * 32, "0" * 32 + "\n"),
    *("urn:uuid:" + "0" * 32, "{" + "0" * 32 + "}", "0" * 8 + "-0000-0000-0000-" + "0" * 12, "-" * 32),
)
_GLOBS = (
    *("**/" * 40 + "*", "*" * 500, "[" * 50, "[!" + "a-" * 40 + "]*", "**/*a*b*c*d*e*f*g*", "/", "a/../b"),
    *(
        "?" * 300,
        "*a" * 200,
        "[z-a]",
        "[]",
        "[!]",
        "[a",
        "{a,b}",
        "\\",
        "**",
        "(a+)+$",
        ".*" * 100,
        "[[:alpha:]]",
    ),
)
_MOMENTS = (
    *(
        "2001-01-01T00:00:00Z",
        "2001-01-01",
        "20010101T000000Z",
        "2001-W01-1T00:00:00Z",
        "0000-00-00T00:00:00Z",
    ),
    *("9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00+14:00"),
    *("0001-01-01T00:00:00-14:00", "2001-01-01T00:00:00+23:59:59.999999", "2001-01-01T00:00:00-00:00:01"),
    *("2001-01-01T24:00:00Z", "2016-12-31T23:59:60Z", "1900-01-01T00:00:00.0000001Z", "٢٠٠١-01-01T00:00:00Z"),
)
_CURSORS = (
    "00" * 18,
    "ff" * 18,
    "00" * 17,
    "zz" * 18,
    "0 " * 18,
    "WzFd:1abcde:x",
    "WzFd:1t:" + "A" * 43,
    "::",
    "=",
)
_LETTERS = "abcdefghijklmnop"
# Share of values that suit the field; others are those of any field.
_MEANT = 0.5


def kind_of_text(source: Random) -> str:
    """Return the name of a random maker of hostile text."""
    return source.choices(list(MAKERS), [RARE.get(kind, 0.1) for kind in MAKERS])[0]


def hostile_value(name: str, source: Random, ground: Ground) -> Any:
    """Return a hostile value for the field `name`, dotted."""
    meant = {
        "cursor": [*_CURSORS, *map(_shift, ground.cursors), *ground.cursors],
        "why_not": [*_IDS, ground.chunk_id, ground.doc_id],
        "doc_id": _IDS,
        "path_glob": _GLOBS,
        "path_not_glob": _GLOBS,
        **dict.fromkeys(("ingested_after", "dated_after", "dated_before"), _MOMENTS),
    }.get(name.rpartition(".")[2])
    if meant is not None and source.random() < _MEANT:
        return source.choice(meant)
    return source.choice([_edge, _edge, _wrong, _text, _text, _name, _texts, _heap])(source, ground)


def hostile_id(source: Random, ground: Ground) -> str:
    """Return an invalid id, or one that doesn't exist."""
    return source.choice([*_IDS, "..", ".", "%", "a/b", "\0", "9" * 5_000, _text(source, ground)[:2_000]])


def hostile_globs(source: Random, odd: str) -> list[str]:
    """Return one pattern, or more than allowed."""
    pattern = source.choice([odd, *_GLOBS])
    return [f"{pattern}{number}" for number in range(source.choice([1, 1, 20, 101]))]


def hostile_moment(source: Random, odd: str) -> str:
    """Return a time, or an invalid one."""
    return source.choice([odd, *_MOMENTS])


def _shift(cursor: str) -> str:
    """Return the cursor of a position far beyond the list's end."""
    return cursor[:-4] + "ffff"


def _edge(source: Random, ground: Ground) -> Any:
    return source.choice(_EDGES)


def _wrong(source: Random, ground: Ground) -> Any:
    return source.choice(_WRONG)


def _name(source: Random, ground: Ground) -> str:
    return source.choice(_NAMES)


def _text(source: Random, ground: Ground) -> str:
    return MAKERS[kind_of_text(source)](source, ground.words)


def _texts(source: Random, ground: Ground) -> list[str]:
    return [_text(source, ground)[:500] for _ in range(source.choice([1, 3, 21, 101]))]


def _heap(source: Random, ground: Ground) -> Any:
    """Return as many things as fit into a body."""
    one = source.choice([None, [], {}, "a", "", 1, [[]], {"q": "a"}])
    many = source.choice([1_000, 1_000, 20_000, PASTE_CHARS // 10])
    if source.random() < 0.3:
        return {f"{source.choice(_LETTERS)}{number}": 1 for number in range(many)}
    return [one] * many
