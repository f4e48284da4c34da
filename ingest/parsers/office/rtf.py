"""Rich text (RTF): its paragraphs and rows, title, author and dates (Microsoft's specification 1.9.1)."""

import codecs
import datetime
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final

from ingest.parsers.decode import join_surrogates
from ingest.parsers.errors import ParseRefused
from ingest.parsers.office.docx import BESIDE_PAGE
from ingest.parsers.office.links import comment_line, embedded_line, field_links, sensible_title
from ingest.parsers.office.package import MAX_PROPERTY_CHARS
from ingest.parsers.outline_writer import OutlineWriter, one_line
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import FileType, Outline

#: more than any document has
MAX_BYTES: Final = 64 * 1024**2
MAX_DEPTH: Final = 2_000
#: groups gathered within each other, as a link in a footnote
MAX_GATHERED: Final = 8
_TOKEN: Final = re.compile(
    rb"\\(?:(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})?[ ]?|'(?P<code>[0-9A-Fa-f]{2})|(?P<sign>.))"
    rb"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+",
    re.DOTALL,
)
#: words of a moment, in the groups of two moments
_TIME: Final = ("yr", "mo", "dy", "hr", "min")
_MOMENTS: Final = ("creatim", "revtim")
_HEADING: Final = re.compile(r"(?:heading|berschrift|titre|t.{1,3}tulo|titolo) ?([1-6])", re.IGNORECASE)
#: charsets of fonts as codecs of Python; 0 and 1 leave it to the document
_FONT_CODECS: Final = """
77 mac_roman 128 cp932 129 cp949 130 johab 134 gbk 136 cp950 161 cp1253 162 cp1254 163 cp1258 177 cp1255
178 cp1256 186 cp1257 204 cp1251 222 cp874 238 cp1250 255 cp437
"""
_FONT_CHARSETS: Final = dict(
    zip(map(int, _FONT_CODECS.split()[::2]), _FONT_CODECS.split()[1::2], strict=True)
)
_CHARSETS: Final = {"mac": "mac_roman", "10000": "mac_roman", "pc": "cp437", "pca": "cp850"}
_SIGNS: Final = {
    "tab": "\t",
    "line": "\n",
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "nestcell": " ",
    "nestrow": " ",
    "~": "\xa0",
    "_": "-",
    "{": "{",
    "}": "}",
    "\\": "\\",
}
_BREAKS: Final = frozenset({"par", "sect", "page", "\n", "\r"})
#: words that are read anywhere in a group
_WORD_NAMES: Final = """
u f fcharset cpg deff ansicpg mac pc pca plain v htmlrtf deleted uc pard s outlinelevel intbl cell row
"""
_WORDS: Final = frozenset({*_SIGNS, *_BREAKS, *_TIME, *_WORD_NAMES.split()})
#: groups whose text is gathered apart from that around it
_GATHERED_NAMES: Final = """
stylesheet title author fldinst objclass annotation atnauthor footnote pntext listtext shptxt
header headerl headerr headerf footer footerl footerr footerf
"""
_GATHERED: Final = frozenset(_GATHERED_NAMES.split())
#: groups without text that is shown
_SKIPPED_NAMES: Final = """
fonttbl colortbl info pict objdata themedata datastore nonshppict sp do shprslt xe tc rxe txe private comment
operator nonesttables htmltag
"""
_SKIPPED: Final = frozenset(_SKIPPED_NAMES.split())
#: groups that are shown although readers may ignore them
_SHOWN: Final = frozenset({"shppict", "shpinst", "nesttableprops"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """State that is in force in a group until its end."""

    #: the group that says what the text is, '' in the body
    group: str = ""
    #: gathered groups around this place
    depth: int = 0
    is_skipped: bool = False
    is_hidden: bool = False
    is_deleted: bool = False
    #: number of the font
    font: int = -1
    #: characters behind each `\\u` for programs without Unicode
    replacements: int = 1


def parse_rtf(content: bytes, file: FileType) -> Outline:
    """Return the readable text of an RTF file; the lines are the outline's own.

    Deleted and hidden text is left out. Targets of links and comments follow their paragraph, page headers
    and footers come last.

    Raises:
        ParseRefused: it has more than MAX_BYTES (`too_large`) or MAX_DEPTH groups around a place (`damaged`).
    """
    if len(content) > MAX_BYTES:
        raise ParseRefused("too_large", f"the file has more than {MAX_BYTES // 1024**2} MB of rich text")
    reader = _Reader()
    reader.read(content.removeprefix(codecs.BOM_UTF8).rstrip(b"\0"))
    return reader.outline()


def rtf_text(content: bytes) -> str:
    """Return the text of rich text. Raises ParseRefused."""
    return "\n".join(parse_rtf(content, FileType(path="", mime="", media="office", parsers=())).lines)


class _Reader:
    """Reader that steps through the tokens and writes paragraphs and rows."""

    def __init__(self) -> None:
        self._writer = OutlineWriter()
        self._state = _State()
        self._outer: list[_State] = []
        #: texts of the body and of the gathered groups around this place, innermost last
        self._texts: list[list[str]] = [[]]
        self._bytes = bytearray()
        self._charset = "cp1252"
        self._default_font = self._stated_font = 0
        self._fonts: dict[int, str] = {}
        #: characters to leave out, as they stand for one in Unicode
        self._left_out = 0
        self._is_group_start = self._may_ignore = False
        self._style = 0
        #: levels of headings by style, and that of this paragraph
        self._levels: dict[int, int] = {}
        self._level: int | None = None
        self._is_in_table = False
        self._cells: list[str] = []
        self._rows: list[list[str]] = []
        #: lines that follow the paragraph
        self._after: list[str] = []
        self._edges: dict[str, None] = {}
        self._stated: dict[str, str] = {}
        self._times: dict[str, dict[str, int]] = defaultdict(dict)

    def read(self, content: bytes) -> None:
        """Read the file up to its end, or to where it was cut off."""
        position = 0
        while found := _TOKEN.match(content, position):
            position = found.end()
            kind = found.lastgroup
            if kind == "text":
                self._add_bytes(found[0])
            elif kind == "code":
                self._add_bytes(bytes.fromhex(found["code"].decode()))
            elif kind == "brace":
                self._take_brace(is_opening=found[0] == b"{")
            elif kind is not None:
                word = (found["word"] or found["sign"]).decode("latin-1")
                number = int(found["number"]) if kind == "number" else None
                if word == "bin":
                    position += max(0, number or 0)
                self._take_word(word, number)

    def outline(self) -> Outline:
        """Return what was read."""
        self._end_paragraph()
        self._end_row()
        self._write_rows()
        first_words = None if any(each.level for each in self._writer.blocks) else self._writer.first_words
        if self._edges:
            self._writer.write_heading("Headers and footers", 1)
            self._writer.write_block("list", self._edges)
        return self._writer.outline(
            title=sensible_title(self._stated.get("title")) or first_words,
            metadata=stated_metadata(
                {
                    "author": self._stated.get("author", ""),
                    "created": _moment(self._times["creatim"]),
                    "modified": _moment(self._times["revtim"]),
                }
            ),
        )

    def _take_brace(self, *, is_opening: bool) -> None:
        if self._bytes:
            self._decode()
        self._left_out = 0
        self._is_group_start, self._may_ignore = is_opening, False
        if is_opening:
            self._outer.append(self._state)
            if len(self._outer) > MAX_DEPTH:
                raise ParseRefused("damaged", f"its groups are more than {MAX_DEPTH} deep")
            return
        ended, self._state = self._state, self._outer.pop() if self._outer else _State()
        if ended.group == "stylesheet":
            if found := _HEADING.search("".join(self._texts[-1])):
                self._levels.setdefault(self._style, int(found[1]))
            self._texts[-1].clear()
            self._style = 0
        if ended.depth > self._state.depth:
            text = _joined(self._texts.pop())
            if not (ended.is_hidden or ended.is_deleted):
                self._take_gathered(ended.group, text)

    def _take_gathered(self, group: str, text: str) -> None:
        """Use the text of a group that stands apart."""
        match group:
            case "fldinst":
                self._after += field_links(text, "")
            case "pntext" | "listtext" if text:
                self._texts[-1].append(f"{text if any(map(str.isalnum, text)) else '-'} ")
            case "footnote":
                self._texts[-1].append(f" {text} ")
            case "annotation":
                self._after.append(comment_line(self._stated.pop("atnauthor", ""), text))
            case "shptxt":
                self._after.append(text)
            case "objclass":
                self._after.append(embedded_line(text))
                self._writer.omitted("embedded_files", where=text)
            case "stylesheet" | "pntext" | "listtext":
                pass
            case "title" | "author" | "atnauthor":
                self._stated[group] = text[:MAX_PROPERTY_CHARS]
            case _ if not BESIDE_PAGE.fullmatch(text):
                self._edges[text] = None

    def _take_word(self, word: str, number: int | None) -> None:
        is_start, self._is_group_start = self._is_group_start, word == "*"
        if self._bytes:
            self._decode()
        if word == "*":
            self._may_ignore = True
        elif is_start and self._begins_group(word):
            pass
        elif word not in _WORDS:
            pass  # most are about the look of text
        elif word == "u" and number is not None:
            self._add(chr(number % 0x10000 if number < 0x10000 else min(number, 0x10FFFF)))
            self._left_out = self._state.replacements
        elif self._left_out and word in _SIGNS:
            self._left_out -= 1
        elif word in _SIGNS:
            self._add(_SIGNS[word])
        elif word in _BREAKS:
            if self._state.depth or self._is_in_table:
                self._add(" ")
            elif not self._state.is_skipped:
                self._end_paragraph()
        elif not self._set_characters(word, number):
            self._set_paragraph(word, number or 0)

    def _begins_group(self, word: str) -> bool:
        """Return whether a word says what its group is."""
        may_ignore, self._may_ignore = self._may_ignore, False
        if word in _GATHERED and self._state.depth < MAX_GATHERED:
            self._texts.append([])
            depth = self._state.depth + 1
            self._state = replace(self._state, group=word, depth=depth, is_skipped=False)
        elif word in _SKIPPED or (may_ignore and word not in _SHOWN):
            self._state = replace(self._state, group=word, is_skipped=True)
        elif word in _MOMENTS:
            self._state = replace(self._state, group=word)
        else:
            return False
        return True

    def _set_characters(self, word: str, number: int | None) -> bool:
        """Return whether a word is about characters, and put it in force."""
        match word:
            case "f" if self._state.group == "fonttbl":
                self._stated_font = number or 0
            case "f":
                self._state = replace(self._state, font=number or 0)
            case "fcharset" if number in _FONT_CHARSETS:
                self._fonts[self._stated_font] = _FONT_CHARSETS[number]
            case "fcharset" if number == 0 and not self._charset.startswith("cp125"):
                self._fonts[self._stated_font] = "cp1252"  # Latin letters of an East Asian document
            case "cpg":
                self._fonts[self._stated_font] = f"cp{number}"
            case "deff":
                self._default_font = number or 0
            case "ansicpg" if number:
                self._charset = _CHARSETS.get(str(number), f"cp{number}")
            case "mac" | "pc" | "pca":
                self._charset = _CHARSETS[word]
            case "plain":
                self._state = replace(self._state, font=-1, is_hidden=False, is_deleted=False)
            case "v" | "htmlrtf":
                self._state = replace(self._state, is_hidden=number != 0)
            case "deleted":
                self._state = replace(self._state, is_deleted=number != 0)
            case "uc":
                self._state = replace(self._state, replacements=max(0, number or 0))
            case _:
                return False
        return True

    def _set_paragraph(self, word: str, number: int) -> None:
        """Put a word about paragraphs, cells or properties in force."""
        group = self._state.group
        if group in _MOMENTS and word in _TIME:
            self._times[group][word] = number
        elif group == "stylesheet" and word == "s":
            self._style = number
        elif group == "stylesheet" and word == "outlinelevel" and number < 6:
            self._levels[self._style] = number + 1
        elif not group:
            match word:
                case "pard":
                    self._level, self._is_in_table = None, False
                case "s":
                    self._level = self._levels.get(number)
                case "outlinelevel" if number < 6:
                    self._level = number + 1
                case "intbl":
                    self._is_in_table = True
                case "cell":
                    self._cells.append(self._take_text())
                    self._is_in_table = True
                case "row":
                    self._end_row()

    def _add_bytes(self, raw: bytes) -> None:
        self._is_group_start = False
        left_out = min(self._left_out, len(raw))
        self._left_out -= left_out
        if self._is_shown:
            self._bytes += raw[left_out:]
        elif self._state.is_deleted and not self._state.is_skipped:
            self._writer.omitted("deleted_text", len(raw) - left_out)
        elif not self._state.is_skipped:
            self._writer.omitted("hidden_text", len(raw) - left_out)

    def _decode(self) -> None:
        """Add the bytes so far as text in the charset of their font."""
        font = self._default_font if self._state.font < 0 else self._state.font
        raw, charset = bytes(self._bytes), self._fonts.get(font, self._charset)
        self._bytes.clear()
        try:
            codecs.lookup(charset)
        except LookupError:
            charset = "cp1252"
        self._add(raw.decode(charset, "replace"))

    @property
    def _is_shown(self) -> bool:
        return not (self._state.is_skipped or self._state.is_hidden or self._state.is_deleted)

    def _add(self, text: str) -> None:
        if self._is_shown:
            self._texts[-1].append(text)

    def _take_text(self) -> str:
        text = _joined(self._texts[0])
        self._texts[0].clear()
        return text

    def _end_paragraph(self) -> None:
        self._decode()
        text = self._take_text()
        if text:
            self._end_row()
            self._write_rows()
        if self._level is not None:
            self._writer.write_heading(text, self._level)
        else:
            self._writer.write_block("paragraph", [text])
        self._writer.write_block("list", self._after)
        self._after.clear()

    def _end_row(self) -> None:
        self._rows.append(self._cells)
        self._cells, self._is_in_table = [], False

    def _write_rows(self) -> None:
        rows, self._rows = self._rows, []
        self._writer.write_table(rows)


def _joined(texts: list[str]) -> str:
    """Return texts on one line, with the halves of characters outside of the basic plane joined."""
    return one_line(join_surrogates("".join(texts)))


def _moment(parts: dict[str, int]) -> str:
    year, month, day, hour, minute = (parts.get(name, 0) for name in _TIME)
    try:
        return datetime.datetime(year, month, day, hour, minute).isoformat()
    except (ValueError, OverflowError):
        return ""
