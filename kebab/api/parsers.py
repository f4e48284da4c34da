"""Reads bodies strictly: what two readers could understand in two ways is refused."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.http import QueryDict
from rest_framework.parsers import BaseParser, DataAndFiles, MultiPartParser

from kebab.api.errors import FieldError, InvalidJSON, InvalidRequest, TooLarge

MAX_DEPTH = 50
_DEFAULT_LIMIT_BYTES = 1_000_000
# Postgres stores neither.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class StrictJSONParser(BaseParser):
    """JSON in UTF-8 without duplicate keys, NaN, NUL characters, lone surrogates or deep nesting.

    The view's `body_limit_bytes` is the most it reads.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Give the body. Raises TooLarge, InvalidJSON, InvalidRequest."""
        view = (parser_context or {}).get("view")
        body = _read(stream, getattr(view, "body_limit_bytes", _DEFAULT_LIMIT_BYTES))
        return parse_json(body)


class StrictMultiPartParser(MultiPartParser):
    """multipart/form-data whose fields are held to the same rules of text."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: dict[str, Any] | None = None,
    ) -> DataAndFiles:
        """Give fields and files. Raises ParseError, InvalidRequest."""
        parsed = super().parse(stream, media_type, parser_context)
        fields: QueryDict = parsed.data
        check_text({name: fields.getlist(name) for name in fields})
        check_text({name: [file.name for file in parsed.files.getlist(name)] for name in parsed.files})
        return parsed


def parse_json(body: bytes) -> Any:
    """Give the strict JSON value of `body`. Raises InvalidJSON, InvalidRequest (the field is named)."""
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
    check_text(value)
    return value


def check_text(value: Any) -> None:
    """Raises InvalidRequest when a string in `value` can't be stored, InvalidJSON when it is too deep."""
    for path, text in _strings(value):
        found = _UNSTORABLE.search(text)
        if found is not None:
            what = "the NUL character (U+0000)" if found[0] == "\0" else "half of a surrogate pair"
            message = f"Text can't contain {what}, as at position {found.start()}."
            raise InvalidRequest(message, errors=[FieldError(field=path, message=message)])


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        path, item, depth = waiting.pop()
        if isinstance(item, str):
            yield path, item
        elif isinstance(item, (dict, list)):
            if depth == MAX_DEPTH:
                raise InvalidJSON(f"The body is nested deeper than {MAX_DEPTH} levels.")
            if isinstance(item, dict):
                yield from ((path, key) for key in item)
            waiting.extend((place, inner, depth + 1) for place, inner in _inner(path, item))


def _inner(path: str, item: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(item, list):
        return ((f"{path}[{nth}]", inner) for nth, inner in enumerate(item))
    below = f"{path}." if path else ""
    return ((f"{below}{name}", inner) for name, inner in item.items())


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
