"""Adversarial values of a given size: each is cheap to send, and expensive for a careless reader."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

#: Texts that are repeated to the size wanted.
UNITS: Mapping[str, str] = {
    # Characters that unfold, fold, join or decompose.
    "salaam": "\ufdfa",
    "ligatures": "\ufb03\ufb06",
    "units": "\u33ff\u3357",
    "fractions": "\u00bd\u2153",
    "jamo": "\u1112\u1161\u11ab",
    "syllables": "\ud55c",
    "circled": "\u3300\u2468",
    "sharp_s": "\u1e9e\u00df",
    "dotted_i": "\u0130",
    "tibetan": "\u0f77\u0f71",
    "accents": "\u1f82\u01d5",
    "mathematical": "\U0001d54f",
    "zalgo": "a\u0315\u0300\u0327\u0489\u0334",
    "marks": "\u0300",
    "marks_in_reverse": "\u0345\u0315\u0301\u0323",
    "emoji": "\U0001f469\u200d\U0001f52c",
    "invisible": "\u200b\u2060",
    "bidi": "\u202e\u2066",
    "bom": "\ufeff",
    "ideographs": "\u6df1",
    "kana": "\uff76\uff9e",
    "thai": "\u0e44\u0e01",
    "arabic": "\u0644\u0627",
    # One long run of a character.
    "letter": "a",
    "digit": "9",
    "blank": " ",
    "newlines": "\n",
    "tabs": "\t",
    "dots": ".",
    "dashes": "-",
    "underscores": "_",
    "stars": "*",
    "slashes": "/",
    "backslashes": "\\",
    "percents": "%",
    "ampersands": "&",
    "quote": '"',
    "apostrophe": "'",
    "semicolons": ";",
    "commas": ",",
    "colons": ":",
    "ats": "@",
    "zeros": "0",
    # Parts of words and addresses.
    "camel": "aB1_",
    "dotted": "a.b",
    "path": "a/",
    "parents": "../",
    "mail": "a@b.",
    "url": "http://a@",
    "host": "http://xn--a.",
    "hex": "0f",
    "base64": "QUJD",
    "ipv6": "::",
    "dates": "2001-01-01T00:00:00Z ",
    "cron": "*/5 1-59 ",
    "percent_encoded": "%F0%9F%98%80",
    "arabic_digits": "\u0663",
    "superscripts": "\u00b2",
    # Pieces of the languages that fields are read in.
    "phrases": '"a b" ',
    "raw": "'a' ",
    "operators": "a AND NOT ",
    "near": "NEAR(a b, 9) ",
    "negated": "-a ",
    "fields": "tag:a ",
    "prefixes": "a* ",
    "globs": "**/*a",
    "classes": "[!a-",
    "expression": "(a+)+",
    "braces": "{{a}}",
    "template": "{%a",
    "tags": "<a>",
    "entities": "&amp;",
    "comments": "<!--",
    "links": "[a](b) ",
    "encoded_words": "=?utf-8?b?YQ==?= ",
    "csv": '"a","b"\n',
    "rows": "q 0 a 1\n",
    "lists": "- a\n",
    "aliases": "*a ",
    "yaml": "a: &a [*a]\n",
    "markup": "**a* _b",
    "stars_in_words": "*a",
    "code": "`",
    "header": "a: b\r\n",
}
_NESTING = (
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ('"', '"'),
    ("<a>", "</a>"),
    ("NOT (", ")"),
    ("> ", ""),
    ("{a:", "}"),
)
_NUMBERS = ("1e400", "-1e400", "1e-400", "1E999999999", "0.1e-999999999", "-0", "NaN", "Infinity")
_ODD = ("\0", "\ud800", "a\udc00", "\x7f\x1b[2J", "\r\nX: y", "\ufffe\uffff")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

Maker = Callable[[Random, int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A value that is written into JSON as it stands."""

    text: str


def adversarial_text(source: Random, size: int) -> tuple[str, str]:
    """Return the name of a kind, and a text of it of at most `size` bytes."""
    kinds = (*UNITS, *MAKERS, *MAKERS)  # the makers have more variants
    kind = source.choice(kinds)
    text = MAKERS[kind](source, size) if kind in MAKERS else _repeat(UNITS[kind], size)
    return kind, text


def adversarial_value(source: Random, size: int, types: Sequence[str]) -> tuple[str, Any]:
    """Return the name of a kind, and a JSON value, mostly one of the field's `types`."""
    wanted = source.choice(types) if types and source.random() < 0.7 else source.choice(list(_VALUES))
    return _VALUES.get(wanted, adversarial_text)(source, size)


def _repeat(unit: str, size: int) -> str:
    return unit * max(1, size // len(unit.encode("utf-8", "surrogatepass")))


def _distinct_words(source: Random, size: int) -> str:
    """Return words that all differ."""
    separator, length = source.choice([" ", ",", "\n", "/", "_", "-", "=1&"]), source.choice([3, 6, 12])
    n = max(1, size // (length + len(separator)))
    return separator.join(f"{_LETTERS[number % 26]}{number:0{length - 1}x}" for number in range(n))


def _nested(source: Random, size: int) -> str:
    opening, closing = source.choice(_NESTING)
    depth = max(1, size // max(1, len(opening) + len(closing)))
    return f"{opening * depth}a{closing * source.choice([depth, depth, 0])}"


def _huge_number(source: Random, size: int) -> str:
    digits = source.choice("189\u0663") * max(1, size // 2)
    forms = (digits, f"-{digits}", f"0.{digits}", f"{digits}.5", f"1e{digits}", f"0x{digits}", f"1/{digits}")
    return source.choice([*_NUMBERS, *forms])


def _half_matched(source: Random, size: int) -> str:
    """Return a long run with something behind it, on which patterns that backtrack fail late."""
    run = source.choice(["a", " ", "0", ".", "-", "a ", "a.", "aA", "\n", "/", "<", "\t ", "="])
    return (
        source.choice(["", "\n", "<", '"', "http://"])
        + _repeat(run, size)
        + source.choice(["!", "\0"[:0], "@", "\n", "\u00e9"])
    )


def _odd_characters(source: Random, size: int) -> str:
    return _repeat("a", size // 2) + source.choice(_ODD) + source.choice(["", "a"])


def _json(source: Random, size: int) -> str:
    """Return a document of JSON as text."""
    opening, closing = source.choice([("[", "]"), ('{"a":', "}"), ('[{"a":[', "]}]")])
    depth = max(1, size // (len(opening) + len(closing)))
    return source.choice(
        [opening * depth + "1" + closing * depth, json.dumps([{"a": 1}] * max(1, size // 10))]
    )


def _encoded(source: Random, size: int) -> str:
    packed = base64.urlsafe_b64encode(bytes(size // 2)).decode()
    return source.choice(
        [packed, f"data:text/plain;base64,{packed}", f"{packed}:1abcde:{packed[:43]}", packed.lower()]
    )


def _mixture(source: Random, size: int) -> str:
    """Return several units in turn, so that nothing repeats soon."""
    units = source.sample(list(UNITS.values()), 8)
    return "".join(source.choices(units, k=max(1, size // 8)))[: max(1, size // 4)]


MAKERS: Mapping[str, Maker] = {
    "distinct_words": _distinct_words,
    "nested": _nested,
    "huge_number": _huge_number,
    "half_matched": _half_matched,
    "odd_characters": _odd_characters,
    "json": _json,
    "encoded": _encoded,
    "mixture": _mixture,
}


def _number(source: Random, size: int) -> tuple[str, Any]:
    return "number", Literal(text=_huge_number(source, size))


def _array(source: Random, size: int) -> tuple[str, Any]:
    """Return a list of many values, alike or all different."""
    length = source.choice([3, 30, 300])
    kind, text = adversarial_text(source, length)
    different = [f"{number:x}-{text}" for number in range(max(1, size // (length + 12)))]
    many = source.choice(["", 0, None, [], {}, {"q": "a"}, {"id": "0", "kind": "pin"}, [[]], True])
    return source.choice(
        [
            (f"list of {kind}", different),
            (f"list of {kind}", [text] * len(different)),
            ("list", [many] * (size // 12)),
            ("list of one", [adversarial_text(source, size)[1]]),
        ]
    )


def _object(source: Random, size: int) -> tuple[str, Any]:
    """Return an object of many names, of one long name, or nested."""
    kind, text = adversarial_text(source, source.choice([3, 30, 300]))
    n = max(1, size // (len(text.encode("utf-8", "surrogatepass")) + 12))
    opening, closing = source.choice([("[", "]"), ('{"a":', "}"), ('[{"q":', "}]"), ('{"filters":', "}")])
    depth = source.choice([40, 49, size // (len(opening) + len(closing))])
    return source.choice(
        [
            (f"object of {kind}", {f"{number:x}{text}": 1 for number in range(n)}),
            ("object of a long name", {adversarial_text(source, size)[1]: 1}),
            ("nested", Literal(text=opening * depth + "1" + closing * depth)),
        ]
    )


_VALUES: Mapping[str, Callable[[Random, int], tuple[str, Any]]] = {
    "string": adversarial_text,
    "integer": _number,
    "number": _number,
    "array": _array,
    "object": _object,
}
