"""Fields of documents, written so that the parsers read them."""

import json
import posixpath
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import quote


def front_matter(fields: Mapping[str, Any]) -> str:
    """Return the fields that have a value as the header of a Markdown file."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in _stated(fields)]
    return "".join(("---\n", *lines, "---\n"))


def trailing_fields(fields: Mapping[str, Any]) -> str:
    """Return the fields as the last line of a Markdown file, which keeps the numbers of all other lines."""
    stated = json.dumps(dict(_stated(fields)), ensure_ascii=False).replace("--", "-\\u002d")
    return "" if stated == "{}" else f"\n<!-- fields {stated} -->\n"


def meta_elements(fields: Mapping[str, Any]) -> str:
    """Return author, created, modified and tags as elements of an HTML page's head, on one line."""
    names = (
        (("article:tag" if name == "tags" else name), each)
        for name, value in _stated(fields)
        for each in (value if isinstance(value, list) else [value])
    )
    return "".join(f'<meta name="{name}" content="{escape(str(each))}">' for name, each in names)


@lru_cache(maxsize=4_096)
def link_to(path: str, target: str, fragment: str = "") -> str:
    """Return the link from the file at `path` to the one at `target`."""
    link = quote(posixpath.relpath(target, posixpath.dirname(path) or "."), safe="/!~*'@:,;+=&$")
    return f"{link}#{quote(fragment)}" if fragment else link


def _stated(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in fields.items() if value)
