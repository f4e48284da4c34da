"""Malformed bodies, not JSON or not valid: each maker changes a valid body."""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.drills.hostile.attempt import JSON, json_body, percent_encode

_DEPTHS = (49, 51, 1_000, 100_000)
_MANY = (1_000, 20_000, 80_000)
_OVER_BYTES = 6_000_000
_NO_TEXT = (
    *(b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe9", b"\xe2\x82", b"\0", b"\t"),
    *(b"\\ud800", b"\\udc00\\ud800", b"\\ud83d", b"\\u0000", b"\\u", b"\\x41"),
)
_LONG_DIGITS = (400, 4_301, 500_000)
_TYPES = (
    *("", "text/plain", "application/xml", "application/json; charset=utf-16", "application/json;charset=x"),
    *(
        "application/jsonp",
        "APPLICATION/JSON",
        "application/json, text/html",
        "*/*",
        "json",
        ";",
        "/",
        "a" * 9_000,
    ),
    *(
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "application/x-www-form-urlencoded",
        "\xff/\xfe",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body with its headers."""

    content: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


Fields = Mapping[str, Any]
Maker = Callable[[Random, Fields], Body]


def cut_off(source: Random, fields: Fields) -> Body:
    """Return a beginning of the body, or all of it with something before or after it."""
    whole = json_body(fields)
    behind = source.choice([b"}", b",", b"null", whole, b"//", b"\0", b"\x1a", b"\n" * 100_000 + b"]"])
    before = source.choice([b"\xef\xbb\xbf", b"\0", b")]}',\n", b"\n" * 100_000])
    return Body(
        content=source.choice([whole[: source.randrange(len(whole))], whole + behind, before + whole])
    )


def other_value(source: Random, fields: Fields) -> Body:
    """Return JSON other than an object, or malformed JSON."""
    values = [b"", b" ", b"null", b"true", b"0", b'"q"', b"[]", b"[{}]", b"{}", b"[[]]", b"-", b"nul", b"'q'"]
    return Body(
        content=source.choice([*values, b"{q: 1}", b"{'q': 'a'}", b'{"q": }', b'{"q": "\n"}', b"{,}"])
    )


def no_number(source: Random, fields: Fields) -> Body:
    """Return numbers that neither JSON nor the machine can represent."""
    digits = "9" * source.choice(_LONG_DIGITS)
    numbers = [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        digits,
        f"-{digits}",
        f"0.{digits}",
        f"1e{digits}",
    ]
    return Body(content=_with(fields, source, source.choice([*numbers, "0x1", "01", "1.", ".5", "+1", "-0"])))


def deep(source: Random, fields: Fields) -> Body:
    """Return excessively nested JSON."""
    depth = source.choice(_DEPTHS)
    opening, closing = source.choice([("[", "]"), ('{"a":', "}"), ('[{"q":', "}]")])
    inner = source.choice(["", "1"]) if opening == "[" else "1"
    nested = opening * depth + inner + closing * source.choice([depth, depth, 0])
    return Body(content=source.choice([nested.encode(), _with(fields, source, nested)]))


def no_text(source: Random, fields: Fields) -> Body:
    """Return bytes that aren't UTF-8, or escapes that aren't characters."""
    odd = source.choice(_NO_TEXT)
    body = json_body({**fields, "\u2603": "\u2603"})
    return Body(content=body.replace("\u2603".encode(), odd, source.choice([1, 2])))


def other_encoding(source: Random, fields: Fields) -> Body:
    """Return the body in another encoding, or compressed."""
    text = json.dumps(fields)
    if source.random() < 0.4:
        packed = gzip.compress(text.encode() + b" " * source.choice([0, 10_000_000]))
        return Body(content=packed, headers=(("Content-Encoding", source.choice(["gzip", "br", "x"])),))
    return Body(content=text.encode(source.choice(["utf-16", "utf-16-le", "utf-32", "utf-7", "cp037"])))


def twice(source: Random, fields: Fields) -> Body:
    """Return duplicate keys."""
    pairs = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items()]
    again = source.choice([pairs, pairs * 20_000, ['"x": 1', '"\\u0078": 2'], ['"": 1', '"": 1']])
    return Body(content=f"{{{', '.join([*pairs, *again])}}}"[:_OVER_BYTES].encode())


def many_names(source: Random, fields: Fields) -> Body:
    """Return unknown or thousands of fields, or one inside itself."""
    names = [f"a{number}" for number in range(source.choice(_MANY))]
    odd = [
        "",
        "\0",
        "\ud800",
        "a" * 900_000,
        "__class__",
        "q ",
        "Q",
        "filters.lang",
        "\u202e",
        "non_field_errors",
    ]
    chosen = source.choice([names, [source.choice(odd)]])
    return Body(content=json_body({**fields, **dict.fromkeys(chosen, 1)}))


def too_large(source: Random, fields: Fields) -> Body:
    """Return a body longer than allowed, by white space or by a value."""
    size = source.choice([1_000_001, _OVER_BYTES])
    return Body(
        content=source.choice([json_body(fields) + b" " * size, json_body({**fields, "x": "x" * size})])
    )


def other_type(source: Random, fields: Fields) -> Body:
    """Return a body with another content type, which may be true."""
    pairs = (f"{percent_encode(name)}={percent_encode(value)}" for name, value in fields.items())
    form = "&".join(pairs).encode()
    parts = b'--b\r\nContent-Disposition: form-data; name="q"; filename="../../q"\r\n\r\na\r\n--b'
    entities = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><q>&x;</q>'
    return source.choice(
        [
            Body(content=json_body(fields), content_type=source.choice(_TYPES)),
            Body(content=form, content_type="application/x-www-form-urlencoded"),
            Body(content=parts + b"--\r\n", content_type="multipart/form-data; boundary=b"),
            Body(content=parts, content_type="multipart/form-data; boundary=b"),
            Body(content=entities, content_type="application/xml"),
        ]
    )


BODIES: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        cut_off,
        other_value,
        no_number,
        deep,
        no_text,
        other_encoding,
        twice,
        many_names,
        too_large,
        other_type,
    )
}


def _with(fields: Fields, source: Random, literal: str) -> bytes:
    """Return the fields with one of them, or an unknown one, replaced by `literal`."""
    name = source.choice([*fields, "k", "nothing"])
    others = {other: value for other, value in fields.items() if other != name}
    return json_body({**others, name: "\u2603"}).replace('"\u2603"'.encode(), literal.encode())
