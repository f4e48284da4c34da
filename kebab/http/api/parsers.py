"""Reads bodies strictly: what two readers could understand in two ways is refused."""

import json
import math
import re
from collections.abc import Container, Iterator, Mapping
from itertools import islice
from typing import IO, Any

from django.http import QueryDict
from rest_framework.parsers import BaseParser, DataAndFiles, MultiPartParser

from kebab.http.api.errors import FieldError, InvalidJSON, InvalidRequest, TooLarge

MAX_DEPTH = 50
# 5 MB can hold a million on one level, which take 4 s to look through.
MAX_WIDTH = 10_000
# Read from JSON each takes some 120 bytes: 2 MB can hold a million.
MAX_VALUES = 300_000
_DEFAULT_LIMIT_BYTES = 1_000_000
# What an object, a list or a further value begins with.
_BEGINNINGS = (b"{", b"[", b",")
# Postgres stores neither.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class StrictJSONParser(BaseParser):
    """JSON in UTF-8 without duplicate keys, NaN, NUL characters, lone surrogates or deep nesting.

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
        body = _read(stream, getattr(view, "body_limit_bytes", _DEFAULT_LIMIT_BYTES))
        return parse_json(body, getattr(view, "typed_text", ()))


class StrictMultiPartParser(MultiPartParser):
    """multipart/form-data whose fields are held to the same rules of text."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: dict[str, Any] | None = None,
    ) -> DataAndFiles:
        """Return fields and files. Raises ParseError, InvalidRequest."""
        parsed = super().parse(stream, media_type, parser_context)
        fields: QueryDict = parsed.data
        check_text({name: fields.getlist(name) for name in fields})
        check_text({name: [file.name for file in parsed.files.getlist(name)] for name in parsed.files})
        return parsed


def parse_json(body: bytes, typed: Container[str] = ()) -> Any:
    """Return the strict JSON value of `body`; fields called as one in `typed` may hold any text.

    Raises InvalidJSON, InvalidRequest (the field is named).
    """
    _check_size(body)
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_once_each,
            parse_constant=_no_constant,
            parse_float=_finite,
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
    """Raises InvalidJSON when `body` holds too many values, before memory is taken for them.

    What stands outside strings is counted, and before that the strings: a value has two, its name and itself.
    """
    if sum(map(body.count, _BEGINNINGS)) + body.count(b'"') <= MAX_VALUES:
        return
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")  # a quote that is left begins or ends a string
    is_over = plain.count(b'"') > 2 * 2 * MAX_VALUES
    if is_over or sum(map(b"".join(plain.split(b'"')[::2]).count, _BEGINNINGS)) > MAX_VALUES:
        raise InvalidJSON(f"The body has more than {MAX_VALUES} objects, lists and values.")


def without_unstorable(text: str) -> str:
    """Return `text` without NUL characters and lone surrogates."""
    return _UNSTORABLE.sub("", text)


def check_text(value: Any, typed: Container[str] = ()) -> None:
    """Raises InvalidRequest when a string in `value` can't be stored, InvalidJSON when it is deep or wide.

    The values of fields called as one in `typed` are not looked at.
    """
    if isinstance(value, str):
        _check(value, ())
    level: list[tuple[_Place, Any]] = [((), value)] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        below = (inner for place, item in level for inner in _containers(place, item, typed))
        level = list(islice(below, MAX_WIDTH + 1))
        if len(level) > MAX_WIDTH:
            raise InvalidJSON(f"The body has more than {MAX_WIDTH} objects and lists on one level.")
    if level:
        raise InvalidJSON(f"The body is nested deeper than {MAX_DEPTH} levels.")


# Written out as a path only when it is told: as many paths as there may be take a second.
_Place = tuple[()] | tuple["_Place", str | int]


def _containers(
    place: _Place, item: dict[str, Any] | list[Any], typed: Container[str]
) -> Iterator[tuple[_Place, Any]]:
    """Return the objects and lists that stand directly in `item`; its texts are checked on the way."""
    if isinstance(item, dict):
        for name in item:
            _check(name, place)
    for name, inner in item.items() if isinstance(item, dict) else enumerate(item):
        if isinstance(inner, (dict, list)):
            yield (place, name), inner
        elif isinstance(inner, str) and name not in typed:
            _check(inner, (place, name))


def _check(text: str, place: _Place) -> None:
    found = _UNSTORABLE.search(text)
    if found is not None:
        what = "the NUL character (U+0000)" if found[0] == "\0" else "half of a surrogate pair"
        message = f"Text can't contain {what}, as at position {found.start()}."
        raise InvalidRequest(message, errors=[FieldError(field=_path(place), message=message)])


def _path(place: _Place) -> str:
    if not place:
        return ""
    outer, name = place
    before = _path(outer)
    if isinstance(name, int):
        return f"{before}[{name}]"
    return f"{before}.{name}" if before else name


def _read(stream: IO[bytes], limit_bytes: int) -> bytes:
    body = stream.read(limit_bytes + 1)
    if len(body) > limit_bytes:
        raise TooLarge(f"The body is larger than the limit of {limit_bytes} bytes.")
    return body


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise ValueError(f"the key {name[:100]!r} is there twice")
        seen.add(name)
    return result


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:30]} is out of range")
    return number
