"""Makers of hostile text, seeded, one for each kind; `MAKERS` has them by name."""

import string
from collections.abc import Callable, Sequence
from random import Random

#: Almost as long as a body may be.
PASTE_CHARS = 900_000

_PLANES = 17
_OPERATORS = (
    *("AND", "OR", "NOT", "NEAR", "near/3", "and", "or", "not"),
    *'()"*^:+-{}[],;~.?!&|\\/<>=@#$%_`',
)
_COLUMNS = ("text", "breadcrumb", "chunk_id", "doc_id", "rank", "nothing", "-text", "{text breadcrumb}")
_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\ufe0f\U000e0001\U000e0041"
_MARKS = [chr(point) for point in (*range(0x300, 0x370), *range(0x483, 0x488), *range(0x20D0, 0x20F1))]
_SCRIPTS = (
    (0x0590, 0x05FF),  # Hebrew
    (0x0600, 0x06FF),  # Arabic
    (0x0900, 0x097F),  # Devanagari
    (0x0E00, 0x0E7F),  # Thai
    (0x1100, 0x11FF),  # Hangul jamo
    (0x3040, 0x30FF),  # kana
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7A3),  # Hangul syllables
    (0x1F300, 0x1FAFF),  # emoji
    (0x20000, 0x2A6DF),  # rare Han
)
_INJECTIONS = (
    "' OR 1=1 --",
    "'); DROP TABLE chunks; --",
    '" OR ""="',
    "%00",
    "%s%s%s%n",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "../../../../etc/passwd",
    "\\x00\\u0000\\ud800",
    "\r\nX-Injected: 1",
    "chunks_fts MATCH 'a'",
    "null",
    "NaN",
    "-0",
    "1e999",
    "ﬀﬃİıſẞß",
    "Ω≈ç√∫˜µ≤≥÷",
)

Maker = Callable[[Random, Sequence[str]], str]


def any_unicode(random: Random, words: Sequence[str]) -> str:
    """Return code points of all planes, also unassigned and private ones, without surrogates."""
    points = (random.randrange(_PLANES) << 16 | random.randrange(0x10000) for _ in range(_size(random)))
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


def surrogates(random: Random, words: Sequence[str]) -> str:
    """Return surrogates among words."""
    halves = (chr(random.randrange(0xD800, 0xE000)) for _ in range(random.randint(1, 9)))
    return "".join(half + random.choice(words) for half in halves)


def controls(random: Random, words: Sequence[str]) -> str:
    """Return NUL and other control characters before, in and after words."""
    return "".join(
        chr(random.choice([0, *range(0x20), *range(0x7F, 0xA0)])) + random.choice(["", random.choice(words)])
        for _ in range(random.randint(1, 60))
    )


def operators(random: Random, words: Sequence[str]) -> str:
    """Return operators and punctuation among words, with and without spaces."""
    space = random.choice([" ", "", "\t", "\u00a0", "\u3000"])
    return space.join(
        random.choice([random.choice(_OPERATORS), random.choice(words)]) for _ in range(_size(random))
    )


def raw(random: Random, words: Sequence[str]) -> str:
    """Return raw syntax, valid or not."""
    return f"'{_expression(random, words, depth=random.randint(0, 6))}'"


def raw_noise(random: Random, words: Sequence[str]) -> str:
    """Return operators in place of raw syntax."""
    return f"'{operators(random, words)}'"


def raw_nested(random: Random, words: Sequence[str]) -> str:
    """Return deeply nested raw syntax."""
    depth = random.choice([50, 300, 5_000, 100_000])
    opening, closing = random.choice(
        [("(", ")"), ("NOT (", ")"), ("text : (", ")"), ("NEAR(", ")"), ("^", "")]
    )
    return f"'{opening * depth}{random.choice(words)}{closing * random.choice([depth, depth - 1, 0])}'"


def raw_many(random: Random, words: Sequence[str]) -> str:
    """Return raw syntax with thousands of words, prefixes or phrases."""
    count = random.choice([40, 400, 10_000])
    join = random.choice([" OR ", " AND ", " NOT ", " + ", " "])
    star = random.choice(["", "*"])
    return f"'{join.join(random.choice(words)[: random.randint(1, 9)] + star for _ in range(count))}'"


def quotes(random: Random, words: Sequence[str]) -> str:
    """Return quotes of all kinds, in and around words and one another."""
    marks = ['"', '""', "'", "''", "`", "„", "“", "”", "«", "»", "‘", "’", "＂", '\\"', '"\'"']
    return "".join(
        random.choice([random.choice(marks), random.choice(words), " "]) for _ in range(_size(random))
    )


def right_to_left(random: Random, words: Sequence[str]) -> str:
    """Return right-to-left scripts, direction overrides and zero-width characters."""
    pieces = (
        random.choice(
            [random.choice(_BIDI), random.choice(_INVISIBLE), _script(random, 0, 1), random.choice(words)]
        )
        for _ in range(_size(random))
    )
    return random.choice([" ", ""]).join(pieces)


def many_scripts(random: Random, words: Sequence[str]) -> str:
    """Return scripts without spaces between words, next to those with spaces."""
    return random.choice([" ", "", "_", "."]).join(
        random.choice([_script(random, 0, len(_SCRIPTS) - 1), random.choice(words)])
        for _ in range(random.randint(1, 40))
    )


def stacked_marks(random: Random, words: Sequence[str]) -> str:
    """Return letters with many combining marks."""
    return "".join(
        letter + "".join(random.choices(_MARKS, k=random.choice([1, 30, 3_000])))
        for letter in random.choice(words)[:6]
    )


def long_token(random: Random, words: Sequence[str]) -> str:
    """Return one very long word."""
    length = random.choice([500, 20_000, 300_000])
    part = random.choice(
        [
            "a",
            random.choice(words),
            "camelCase",
            "snake_case_",
            "a.b",
            "path/",
            "x-",
            "深",
            "한",
            "ア",
            "9",
            "C++",
            "@",
            "é",
        ]
    )
    return (part * length)[:length]


def many_terms(random: Random, words: Sequence[str]) -> str:
    """Return thousands of terms, known and unknown."""
    count = random.choice([33, 500, 5_000, 50_000])
    unknown = random.random() < 0.3
    return " ".join(_word(random) if unknown else random.choice(words) for _ in range(count))


def paste(random: Random, words: Sequence[str]) -> str:
    """Return a megabyte of pasted text."""
    unit = random.choice(
        [
            " ".join(random.choices(words, k=400)) + " ",
            any_unicode(random, words) + " ",
            '"',
            "'",
            "(",
            " ",
            "\n",
            "a ",
            "深圳",
            "0123456789",
            "{}[]();",
            random.choice(words) + "* OR ",
        ]
    )
    text = (unit * (PASTE_CHARS // len(unit) + 1))[:PASTE_CHARS]
    return _at_most(f"'{text}'" if random.random() < 0.2 else text)


def injection(random: Random, words: Sequence[str]) -> str:
    """Return input that has broken other systems."""
    return random.choice(_INJECTIONS) * random.choice([1, 1, 100])


def blank(random: Random, words: Sequence[str]) -> str:
    """Return a blank text of one of many kinds."""
    return random.choice(
        ["", " ", "\n\t", "''", "' '", '""', "'\"\"'", "*", "-", "\u3000", "\u200b", ".", "'*'", "'^'"]
    )


def mixture(random: Random, words: Sequence[str]) -> str:
    """Return two or three of the other kinds in sequence."""
    makers = [maker for maker in MAKERS.values() if maker not in (mixture, paste)]
    mixed = random.choice(["", " ", "'"]).join(
        random.choice(makers)(random, words) for _ in range(random.randint(2, 3))
    )
    return _at_most(mixed)


MAKERS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        any_unicode,
        surrogates,
        controls,
        operators,
        raw,
        raw_noise,
        raw_nested,
        raw_many,
        quotes,
        right_to_left,
        many_scripts,
        stacked_marks,
        long_token,
        many_terms,
        paste,
        injection,
        blank,
        mixture,
    )
}


def _size(random: Random) -> int:
    return random.choice([1, 3, 10, 40, 400])


def _word(random: Random) -> str:
    return "".join(random.choices(string.ascii_lowercase, k=random.randint(1, 12)))


def _script(random: Random, first: int, last: int) -> str:
    low, high = _SCRIPTS[random.randint(first, last)]
    return "".join(chr(random.randint(low, high)) for _ in range(random.randint(1, 8)))


def _expression(random: Random, words: Sequence[str], depth: int) -> str:
    if depth == 0:
        word = random.choice(words)
        return random.choice(
            [
                word,
                f'"{word} {random.choice(words)}"',
                f"{word[:4]}*",
                f"^{word}",
                f"{random.choice(_COLUMNS)} : {word}",
                f"NEAR({word} {random.choice(words)}, {random.choice([0, 3, 10**9, -1])})",
                f'"{word}" + {random.choice(words)}',
            ]
        )
    left, right = (_expression(random, words, depth - 1) for _ in range(2))
    return f"({left} {random.choice(['AND', 'OR', 'NOT', ''])} {right})"


def _at_most(text: str) -> str:
    """Return the text cut to what fits into a body in any encoding of its characters."""
    return text[: PASTE_CHARS // max(1, len(text.encode("utf-8", "surrogatepass")) // max(1, len(text)))]
