"""The YAML (`---`) or TOML (`+++`) header of a Markdown file, parsed with hard limits."""

import datetime
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ingest.parsers.decode import UNSAFE
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
FENCES = {"---": ("---", "..."), "+++": ("+++",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """Header of a file: its last line (0 when there is none) and its fields."""

    last_line: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: reason for which the header could not be parsed; its lines are then ordinary text
    warning: str | None = None

    @property
    def title(self) -> str | None:
        """Return the stated title, or None."""
        title = self.metadata.get("title")
        return " ".join(str(title).split()) or None if isinstance(title, str | int | float) else None

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
    """Return the header at the top of `lines`; an unreadable one is a warning, never an error."""
    opening = lines[0].rstrip() if lines else ""
    last_line = _closing_line(lines, FENCES.get(opening, ()))
    if not last_line:
        return FrontMatter()
    text = "\n".join(lines[1 : last_line - 1])
    if len(text) > MAX_CHARS:
        return FrontMatter(warning=f"front matter of {len(text)} characters is over {MAX_CHARS}: not read")
    try:
        values = tomllib.loads(text) if opening == "+++" else yaml.load(text, SAFE_LOADER)  # noqa: S506
        if not isinstance(values, dict):
            return FrontMatter(last_line=last_line if values is None else 0)
        return FrontMatter(last_line=last_line, metadata=_JsonCopier().copy(values, 0))
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        return FrontMatter(warning=f"front matter not read: {' '.join(str(error).split())[:200]}")


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
