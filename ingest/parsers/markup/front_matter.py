"""The YAML (`---`), TOML (`+++`) or JSON header of a Markdown file, parsed with hard limits."""

import datetime
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ingest.parsers.decode import UNSAFE
from ingest.parsers.stated_metadata import stated_metadata
from search.documents.charset import REPLACEMENT

#: the libyaml loader where the wheel has it, twelve times faster than the one in Python
SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_LINES = 400
MAX_CHARS = 16_384
#: values, counted with repetition, so that YAML aliases cannot multiply them
MAX_VALUES = 1_000
MAX_DEPTH = 8
MAX_TAGS = 64
TAG_CHARS = 100
FENCES = {"---": ("---", "..."), "+++": ("+++",), ";;;": (";;;",), "{": ("}",)}
#: a line of a header that is no valid YAML, and a line that belongs to the one above it
FIELD = re.compile(r"([^\W\d][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*)|$)")
CONTINUATION = re.compile(r"[ \t]|-(?:[ \t]|$)|#|[\]})]|\{[{%]")
ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
#: a last line with fields, which programs write below a text whose lines must keep their numbers
TRAILING = re.compile(r"<!-- fields (\{.*\}) -->")
#: values of templates, which stand for another text, and of YAML that needs a parser
UNREADABLE = re.compile(r".*(?:\{\{|\{%|<%|\$\{)|[!&*|>{]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """Header of a file: its last line (0 when there is none) and its fields."""

    last_line: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: reason for which the header could not be parsed
    warning: str | None = None

    @property
    def title(self) -> str | None:
        """Return the stated title, or None."""
        title = next((self.metadata[name] for name in ("title", "Title") if name in self.metadata), None)
        if not isinstance(title, str | int | float) or UNREADABLE.match(str(title)):
            return None
        return " ".join(str(title).split()) or None

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the stated tags in their order, without repetition."""
        stated = self.metadata.get("tags") or ()
        listed = stated.split(",") if isinstance(stated, str) else stated
        if not isinstance(listed, list | tuple):
            return ()
        cleaned = (str(tag).strip()[:TAG_CHARS] for tag in listed if isinstance(tag, str | int | float))
        return tuple(dict.fromkeys(tag for tag in cleaned if tag))[:MAX_TAGS]


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Return the header at the top of `lines`; an unreadable one is a warning, never an error.

    Of a header that is no valid YAML, lines that read as `key: value` are taken. `author`, `created` and
    `modified` are added where other fields state them.
    """
    opening = lines[0].rstrip() if lines else ""
    last_line = _closing_line(lines, FENCES.get(opening, ()))
    if not last_line:
        return FrontMatter()
    inner = lines[1 : last_line - 1]
    if sum(map(len, inner)) > MAX_CHARS:
        return FrontMatter(warning=f"front matter of over {MAX_CHARS} characters: not read")
    warning = None
    try:
        values = _parse(opening, "\n".join(inner))
        if not isinstance(values, dict):
            return FrontMatter(last_line=last_line if values is None else 0)
        fields = _JsonCopier().copy(values, 0)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        if opening not in ("---", "+++") or not _is_header(inner):
            return FrontMatter()
        fields = _JsonCopier().copy(dict(_read_fields(inner)), 0)
        warning = f"front matter read line by line: {' '.join(str(error).split())[:200]}"
    return FrontMatter(last_line=last_line, metadata={**fields, **stated_metadata(fields)}, warning=warning)


def read_trailing_fields(lines: Sequence[str]) -> FrontMatter:
    """Return the fields of a comment `<!-- fields {JSON} -->` in the last line; none without one."""
    last = next((line for line in reversed(lines[-3:]) if line.strip()), "")
    found = TRAILING.fullmatch(last.strip()) if len(last) <= MAX_CHARS else None
    if found is None:
        return FrontMatter()
    try:
        fields = _JsonCopier().copy(json.loads(found[1]), 0)
    except (ValueError, RecursionError):
        return FrontMatter()
    return FrontMatter(metadata={**fields, **stated_metadata(fields)})


def _parse(opening: str, text: str) -> Any:
    if opening == "+++":
        return tomllib.loads(text)
    if opening == "---":
        return yaml.load(text, SAFE_LOADER)  # noqa: S506
    return json.loads(text if opening == ";;;" and text.lstrip().startswith("{") else f"{{{text}}}")


def _is_header(lines: Sequence[str]) -> bool:
    """Return whether lines between two rules are fields, not prose."""
    filled = [line for line in lines if line.strip()]
    fields = [line for line in filled if FIELD.match(line)]
    known = sum(FIELD.match(line) is not None or CONTINUATION.match(line) is not None for line in filled)
    return bool(fields) and bool(lines[0].strip()) and known == len(filled)


def _read_fields(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the fields with values that are plain text or a list of it."""
    name = ""
    items: list[str] = []
    for line in [*lines, ":"]:
        item = ITEM.match(line)
        if item is not None and name:
            items.append(_plain(item[1]))
            continue
        field = FIELD.match(line)
        if field is None and line != ":":
            continue
        if name and items:
            yield name, items
        name, items = "", []
        if field is None:
            continue
        value = field[2] or ""
        if value.startswith("["):
            yield field[1], [_plain(part) for part in value.strip(" \t[]").split(",") if part.strip()]
        elif not value.strip():
            name = field[1]
        elif not UNREADABLE.match(value):
            yield field[1], _plain(value)


def _plain(value: str) -> str:
    """Return a value without white space and quotes around it, and without a comment behind it."""
    value = re.sub(r"[ \t]#.*$", "", value) if value[:1] not in ("'", '"') else value
    return value.strip().strip("'\"").strip()


def _closing_line(lines: Sequence[str], closings: Sequence[str]) -> int:
    """Return the 1-based line that closes the header, 0 when none does."""
    if not closings:
        return 0
    for number, line in enumerate(lines[1 : MAX_LINES + 1], start=2):
        if line.rstrip() in closings:
            return number
    return 0


class _JsonCopier:
    """Converter of parsed values to plain JSON, within MAX_VALUES values and MAX_DEPTH levels."""

    def __init__(self) -> None:
        self.left = MAX_VALUES

    def copy(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            raise ValueError(f"more than {MAX_VALUES} values or {MAX_DEPTH} levels")
        if isinstance(value, dict):
            return {_replace_unsafe(str(key)): self.copy(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.copy(inner, depth + 1) for inner in value]
        if isinstance(value, datetime.date | datetime.datetime | datetime.time):
            return value.isoformat()
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return str(value)
        return value if isinstance(value, int | float | bool | None) else _replace_unsafe(str(value))


def _replace_unsafe(text: str) -> str:
    """Replace NUL and lone surrogates, which YAML's escapes can contain and a database can't store."""
    return UNSAFE.sub(REPLACEMENT, text)
