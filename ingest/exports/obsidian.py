"""Obsidian vaults: wiki links and embeds as links to documents, tags in the text as tags.

Obsidian's help pages "Internal links", "Embed files" and "Tags" describe the syntax.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from ingest.exports.types import PlainExport, link_to, trailing_fields
from ingest.parsers.markup.inline_html import split_fences
from search.pages.markdown.tokens import slug_of

_SETTINGS: Final = ".obsidian/"
_LEFT_OUT: Final = (_SETTINGS, ".trash/")
_PICTURES: Final = frozenset({"avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp"})
_CODE: Final = re.compile(r"(`[^`\n]*`)")
#: an embed's mark, the target, a heading or block of it, the shown text; in tables the bar is escaped
_LINK: Final = re.compile(r"(!?)\[\[([^\[\]|#\n\\]*)((?:#[^\[\]|#\n\\]*)*)(?:\\?\|([^\[\]\n]*))?\]\]")
_TAG: Final = re.compile(r"(?:^|(?<=\s))#([\w/-]*[^\W\d_][\w/-]*)")
_SIZE: Final = re.compile(r"\d+(?:x\d+)?")


class ObsidianVault(PlainExport):
    """A folder of Markdown notes with the settings folder `.obsidian`."""

    converted = (".md",)

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in sorted(paths, key=lambda path: (path.count("/"), path)):
            if not path.startswith(_LEFT_OUT):
                self._by_name[posixpath.basename(path).lower()].append(path)

    @staticmethod
    def find_roots(paths: Sequence[str]) -> Iterator[str]:
        """Yield the folders that have a folder `.obsidian`."""
        for path in paths:
            before, found, _ = f"/{path}".partition(f"/{_SETTINGS}")
            if found:
                yield f"{before[1:]}/" if before else ""

    def document_path(self, path: str) -> str | None:
        """Return the path itself; None for settings and deleted notes."""
        return None if path.startswith(_LEFT_OUT) else path

    def convert(self, path: str, content: bytes) -> bytes:
        """Return a note with the links and embeds of Markdown, and its tags in a last line."""
        tags: dict[str, None] = {}
        lines = content.decode().split("\n")
        header = _header_lines(lines)
        converted = lines[:header]
        for is_code, part in split_fences(lines[header:]):
            converted += part if is_code else [self._convert_line(path, line, tags) for line in part]
        return ("\n".join(converted) + trailing_fields({"tags": list(tags)})).encode()

    def _convert_line(self, path: str, line: str, tags: dict[str, None]) -> str:
        parts = _CODE.split(line)
        return "".join(
            part if index % 2 else self._convert_part(path, part, tags) for index, part in enumerate(parts)
        )

    def _convert_part(self, path: str, part: str, tags: dict[str, None]) -> str:
        tags.update(dict.fromkeys(tag.rstrip("/") for tag in _TAG.findall(part)))
        return _LINK.sub(lambda link: self._convert_link(path, link), part)

    def _convert_link(self, path: str, link: re.Match[str]) -> str:
        name, part, shown = link[2].strip(), link[3].rpartition("#")[2].strip(), (link[4] or "").strip()
        target = self._find(path, name)
        is_picture = bool(link[1]) and name.rpartition(".")[2].lower() in _PICTURES
        if is_picture and _SIZE.fullmatch(shown):
            shown = ""
        is_heading = bool(part) and not part.startswith("^")
        text = shown or (" > ".join(filter(None, (name, part))) if is_heading else name)
        if target is None:
            return text
        heading = slug_of(part) if is_heading else ""
        address = f"#{heading}" if target == path and heading else link_to(path, target, heading)
        return f"{'!' if is_picture else ''}[{text}]({address})"

    def _find(self, path: str, name: str) -> str | None:
        """Return the file that a link means, by its path or its name; of several the one nearest the root."""
        if not name:
            return path
        wanted = posixpath.normpath(name.lstrip("/")).lower()
        for each in (wanted, f"{wanted}.md"):
            named = self._by_name.get(posixpath.basename(each), ())
            for file in named:
                if f"/{file.lower()}".endswith(f"/{each}"):
                    return file
        return None


def _header_lines(lines: Sequence[str]) -> int:
    """Return the number of lines of the header; 0 without one."""
    if lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:], start=2) if line.rstrip() == "---"), 0)
