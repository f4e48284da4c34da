"""Google Takeout: notes of Keep and calendars as Markdown; files of Drive and mail are read as they are.

Google's help page "How to download your Google data" lists the formats. Names of folders depend on the
language.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from ingest.exports.types import PlainExport, front_matter, link_to
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.mail.cards import read_events
from ingest.parsers.types import LineSpan

_ROOT: Final = "Takeout/"
_OVERVIEW: Final = "archive_browser.html"
_PRODUCTS: Final = frozenset({"Calendar", "Drive", "Keep", "Mail"})
_CALENDAR_NAME: Final = re.compile(r"X-WR-CALNAME:(.*)")
_MAX_EVENTS: Final = 20_000


class TakeoutExport(PlainExport):
    """A folder `Takeout` with one folder per product."""

    converted = (".json", ".ics")

    @staticmethod
    def find_roots(paths: Sequence[str]) -> Iterator[str]:
        """Yield the folders named `Takeout` with the overview or a known product."""
        for path in paths:
            before, found, inner = f"/{path}".partition(f"/{_ROOT}")
            if found and (inner == _OVERVIEW or inner.partition("/")[0] in _PRODUCTS):
                yield f"{before}/{_ROOT}"[1:] if before else _ROOT

    def document_path(self, path: str) -> str | None:
        """Return the path of a note or calendar as Markdown, any other as it is; None for the overview."""
        stem, ending = posixpath.splitext(path)
        is_note = {f"{stem}.json", f"{stem}.html"} <= self.paths
        if path == _OVERVIEW or (is_note and ending == ".html") or path.endswith("/Labels.txt"):
            return None
        return f"{stem}.md" if ending == ".ics" or (is_note and ending == ".json") else path

    def convert(self, path: str, content: bytes) -> bytes:
        """Return a note or calendar as Markdown; a deleted note is empty."""
        if path.endswith(".ics"):
            return _calendar(content).encode()
        stem = path.removesuffix(".json")
        if f"{stem}.html" not in self.paths:
            return content
        return self._note(path, json.loads(content)).encode()

    def _note(self, path: str, note: Mapping[str, Any]) -> str:
        if note.get("isTrashed"):
            return ""
        fields = {
            "title": str(note["title"]),
            "created": _time(note.get("createdTimestampUsec")),
            "modified": _time(note["userEditedTimestampUsec"]),
            "tags": [str(each["name"]) for each in note.get("labels") or ()],
        }
        parts = [str(note.get("textContent") or ""), "".join(map(_item, note.get("listContent") or ()))]
        parts += [
            f"[{each.get('title') or each['url']}]({each['url']})\n"
            for each in note.get("annotations") or ()
            if each.get("url")
        ]
        for each in note.get("attachments") or ():
            name = str(each.get("filePath") or "")
            file = posixpath.join(posixpath.dirname(path), name)
            parts += [f"![{name}]({link_to(path, file)})\n"] if file in self.paths else []
        return front_matter(fields) + "\n" + "\n".join(filter(None, parts)) + "\n"


def _item(item: Mapping[str, Any]) -> str:
    return f"- [{'x' if item.get('isChecked') else ' '}] {item.get('text', '')}\n"


def _time(microseconds: Any) -> str:
    return datetime.fromtimestamp(int(microseconds) / 1_000_000, UTC).isoformat() if microseconds else ""


def _calendar(content: bytes) -> str:
    """Return the events of a calendar, each as a section with its facts and its description."""
    lines = split_lines(decode(content))
    named = next(filter(None, map(_CALENDAR_NAME.fullmatch, lines[:50])), None)
    placed = [(line, LineSpan(number, number)) for number, line in enumerate(lines, start=1)]
    sections = [front_matter({"title": named[1].strip() if named else ""})]
    for event in islice(read_events(placed), _MAX_EVENTS):
        facts = [text for text, _ in event.facts]
        summary = next(
            (text.removeprefix("Summary: ") for text in facts if text.startswith("Summary: ")), "Event"
        )
        about = "".join(f"- {text}\n" for text in facts if not text.startswith("Summary: "))
        description = "\n".join(text for text, _ in event.description)
        sections.append(f"\n## {summary}\n\n{about}" + (f"\n{description}\n" if description else ""))
    return "".join(sections)
