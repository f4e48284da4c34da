"""Strict body parsers: a body that two readers could understand differently is refused."""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import IO, Any

from django.http import QueryDict
from rest_framework.parsers import BaseParser, DataAndFiles, MultiPartParser

from kebab.errors import FieldError, InvalidJSON, InvalidRequest, TooLarge

MAX_DEPTH = 50
# 5 MB can hold a million containers on one level, which take 4 s to check.
MAX_WIDTH = 10_000
# Each value parsed from JSON takes some 120 bytes of memory: 2 MB can hold a million.
MAX_VALUES = 300_000
_DEFAULT_LIMIT_BYTES = 1_000_000
# The bytes that begin an object, a list or a further value.
_VALUE_OPENERS = (b"{", b"[", b",")
# Postgres stores neither.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class StrictJSONParser(BaseParser):
    """A parser of UTF-8 JSON without duplicate keys, NaN, NUL characters, lone surrogates or deep nesting.

    The view's `body_limit_bytes` is the most it reads. Its `typed_text` names fields that may have NUL
    characters and lone surrogates: a `TypedTextField` drops them.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body. Raises TooLarge, InvalidJSON, InvalidRequest."""
        view = (parser_context or {}).get("view")
        body = _read_limited(stream, getattr(view, "body_limit_bytes", _DEFAULT_LIMIT_BYTES))
        return parse_json(body, getattr(view, "typed_text", ()))


class StrictMultiPartParser(MultiPartParser):
    """A parser of multipart/form-data that applies the same text rules to its fields."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> "DataAndFiles[Any, Any]":
        """Return fields and files. Raises ParseError, InvalidRequest."""
        parsed = super().parse(stream, media_type, parser_context)
        fields: QueryDict = parsed.data
        check_text({name: fields.getlist(name) for name in fields})
        check_text({name: [file.name for file in parsed.files.getlist(name)] for name in parsed.files})
        return parsed


def parse_json(body: bytes, typed: Container[str] = ()) -> Any:
    """Return the strict JSON value of `body`; fields whose names are in `typed` may hold any text.

    A byte order mark, which RFC 8259 lets a parser ignore, is ignored.

    Raises InvalidJSON, InvalidRequest (the field is named).
    """
    _check_size(body)
    try:
        value = json.loads(
            body.removeprefix(BOM_UTF8).decode("utf-8"),
            object_pairs_hook=_reject_duplicate_keys,
            parse_constant=_reject_constant,
            parse_float=_parse_finite_float,
        )
    except UnicodeDecodeError as error:
        raise InvalidJSON(f"The body is not UTF-8 at byte {error.start}.") from error
    except RecursionError as error:
        raise InvalidJSON(f"The body is nested deeper than {MAX_DEPTH} levels.") from error
    except ValueError as error:
        raise InvalidJSON(f"The body is not JSON: {error}.") from error
    check_text(value, typed)
    return value


def _check_size(body: bytes) -> None:
    """Raise InvalidJSON when `body` holds too many values, before memory is allocated for them.

    Strings are counted first (a value has at most two, its name and itself), then the openers outside
    strings.
    """
    if sum(map(body.count, _VALUE_OPENERS)) + body.count(b'"') <= MAX_VALUES:
        return
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")  # each remaining quote begins or ends a string
    is_over = plain.count(b'"') > 2 * 2 * MAX_VALUES
    if is_over or sum(map(b"".join(plain.split(b'"')[::2]).count, _VALUE_OPENERS)) > MAX_VALUES:
        raise InvalidJSON(f"The body has more than {MAX_VALUES} objects, lists and values.")


def strip_unstorable(text: str) -> str:
    """Return `text` without NUL characters and lone surrogates."""
    return _UNSTORABLE.sub("", text)


def check_text(value: Any, typed: Container[str] = ()) -> None:
    """Raise InvalidRequest when a string in `value` can't be stored, InvalidJSON when it is deep or wide.

    The values of fields whose names are in `typed` are not checked.
    """
    if isinstance(value, str):
        _check_string(value, ())
    level: list[tuple[_JsonPath, Any]] = [((), value)] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        below = (inner for place, item in level for inner in _nested_containers(place, item, typed))
        level = list(islice(below, MAX_WIDTH + 1))
        if len(level) > MAX_WIDTH:
            raise InvalidJSON(f"The body has more than {MAX_WIDTH} objects and lists on one level.")
    if level:
        raise InvalidJSON(f"The body is nested deeper than {MAX_DEPTH} levels.")


# A linked list, formatted only for an error message: formatting the path of every value could take a second.
_JsonPath = tuple[()] | tuple["_JsonPath", str | int]


def _nested_containers(
    place: _JsonPath, item: dict[str, Any] | list[Any], typed: Container[str]
) -> Iterator[tuple[_JsonPath, Any]]:
    """Yield the objects and lists directly in `item`, checking its strings on the way."""
    if isinstance(item, dict):
        for key in item:
            _check_string(key, place)
    inner_items: Iterable[tuple[str | int, Any]] = item.items() if isinstance(item, dict) else enumerate(item)
    for name, inner in inner_items:
        if isinstance(inner, (dict, list)):
            yield (place, name), inner
        elif isinstance(inner, str) and name not in typed:
            _check_string(inner, (place, name))


def _check_string(text: str, place: _JsonPath) -> None:
    found = _UNSTORABLE.search(text)
    if found is not None:
        what = "the NUL character (U+0000)" if found[0] == "\0" else "half of a surrogate pair"
        message = f"Text can't contain {what}, as at position {found.start()}."
        raise InvalidRequest(message, errors=[FieldError(field=_format_path(place), message=message)])


def _format_path(place: _JsonPath) -> str:
    if not place:
        return ""
    outer, name = place
    before = _format_path(outer)
    if isinstance(name, int):
        return f"{before}[{name}]"
    return f"{before}.{name}" if before else name


def _read_limited(stream: IO[bytes], limit_bytes: int) -> bytes:
    body = stream.read(limit_bytes + 1)
    if len(body) > limit_bytes:
        raise TooLarge(f"The body is larger than the limit of {limit_bytes} bytes.")
    return body


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise ValueError(f"the key {name[:100]!r} is there twice")
        seen.add(name)
    return result


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _parse_finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:30]} is out of range")
    return number
