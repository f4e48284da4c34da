"""Read the cited place in an original file, independently of Kebab's parsers."""

import base64
import email
import html
import io
import quopri
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

import docx
import olefile
import openpyxl
import pptx
import pypdfium2
from PIL import Image, ImageChops

from search.retrieval.citation import Citation
from tests.integration.ingest.cited_files import CitedFile

_CUE = re.compile(r"(?m)^([\d:.,]+) --> ([\d:.,]+).*\n((?:.+\n?)+)")
_LINE_END = re.compile(rb"\r\n|\r|\n")


def text_at(content: bytes, file: CitedFile, citation: Citation) -> str:
    """Return the text at the cited place of `content`, with single spaces and without markup."""
    suffix = PurePosixPath(file.path).suffix
    found = _READERS.get(suffix, _lines)(content, file, citation)
    return " ".join(found.split())


def picture_at(content: bytes, citation: Citation) -> Image.Image:
    """Return the cited region of a picture."""
    assert None not in (citation.x, citation.y, citation.w, citation.h)
    return Image.open(io.BytesIO(content)).convert("RGB").crop(_box(citation))


def page_as_picture(content: bytes, citation: Citation) -> Image.Image:
    """Return the cited page of a PDF, rendered."""
    with pypdfium2.PdfDocument(content) as document:
        return document[citation.page - 1].render(scale=1.5).to_pil().convert("RGB")


def has_ink_outside(content: bytes, citation: Citation, slack: int) -> bool:
    """Return whether anything is drawn outside of the region and `slack` pixels around it."""
    picture = Image.open(io.BytesIO(content)).convert("L")
    left, top, right, bottom = _box(citation)
    paper = picture.getpixel((0, 0))
    picture.paste(paper, (left - slack, top - slack, right + slack, bottom + slack))
    blank = Image.new("L", picture.size, paper)
    return ImageChops.difference(picture, blank).point(lambda value: value > 40 and 255).getbbox() is not None


def _box(citation: Citation) -> tuple[int, int, int, int]:
    return citation.x, citation.y, citation.x + citation.w, citation.y + citation.h


def _lines(content: bytes, file: CitedFile, citation: Citation) -> str:
    text = content.decode(file.charset)
    return "\n".join(re.split(r"\r\n|\r|\n", text)[citation.start - 1 : citation.end])


def _markup(content: bytes, file: CitedFile, citation: Citation) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", _lines(content, file, citation)))


def _mail(content: bytes, file: CitedFile, citation: Citation) -> str:
    lines = b"\n".join(_LINE_END.split(content)[citation.start - 1 : citation.end])
    if email.message_from_bytes(content)["Content-Transfer-Encoding"] == "base64":
        return re.sub(r"<[^>]*>", "", base64.b64decode(lines).decode(errors="replace"))
    return quopri.decodestring(lines).decode(errors="replace")


def _outlook_message(content: bytes, file: CitedFile, citation: Citation) -> str:
    """Return the lines below the three of the headers and a blank one, as the body has them."""
    with olefile.OleFileIO(content) as ole:
        body = ole.openstream("__substg1.0_1000001F").read().decode("utf-16-le")
    return "\n".join(["", "", "", "", *body.splitlines()][citation.start - 1 : citation.end])


def _word_document(content: bytes, file: CitedFile, citation: Citation) -> str:
    """Return the lines as `docs/formats.md` counts them, with a blank line between blocks."""
    lines: list[str] = []
    was_item = False
    for paragraph in docx.Document(io.BytesIO(content)).iter_inner_content():
        written = (
            [line for line in paragraph.text.splitlines() if line.strip()] if _is_text(paragraph) else []
        )
        is_item = bool(written) and paragraph.style.name.startswith("List")
        if lines and written and not (is_item and was_item):
            lines.append("")
        lines += written
        was_item = is_item
    return "\n".join(lines[citation.start - 1 : citation.end])


def _is_text(block: object) -> bool:
    return isinstance(block, docx.text.paragraph.Paragraph)


def _chapter(content: bytes, file: CitedFile, citation: Citation) -> str:
    """Return a chapter of a book whose parts are named in the order of its chapters."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        names = sorted(name for name in book.namelist() if "section" in name)
        return html.unescape(re.sub(r"<[^>]*>", " ", book.read(names[citation.page - 1]).decode()))


def _slide(content: bytes, file: CitedFile, citation: Citation) -> str:
    slide = pptx.Presentation(io.BytesIO(content)).slides[citation.page - 1]
    return "\n".join(_shape_texts(slide.shapes))


def _shape_texts(shapes: object) -> Iterator[str]:
    for shape in shapes:
        if shape.has_text_frame:
            yield shape.text_frame.text
        elif shape.has_table:
            yield from (cell.text for row in shape.table.rows for cell in row.cells)


def _sheet(content: bytes, file: CitedFile, citation: Citation) -> str:
    sheet = openpyxl.load_workbook(io.BytesIO(content)).worksheets[citation.page - 1]
    return "\n".join(str(value) for row in sheet.values for value in row if value is not None)


def _page(content: bytes, file: CitedFile, citation: Citation) -> str:
    with pypdfium2.PdfDocument(content) as document:
        return document[citation.page - 1].get_textpage().get_text_bounded()


def _cues(content: bytes, file: CitedFile, citation: Citation) -> str:
    cues = _CUE.findall(content.decode())
    within = [
        text
        for start, end, text in cues
        if citation.start_s <= _seconds(start) <= _seconds(end) <= citation.end_s
    ]
    return re.sub(r"<[^>]*>|\{[^}]*\}", "", "".join(within))


def _seconds(time: str) -> float:
    hours, minutes, seconds = time.replace(",", ".").split(":")
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def _open_document(content: bytes, file: CitedFile, citation: Citation) -> str:
    """Return the text of the cited slide or sheet, of a text the whole: its pages have no numbers."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        markup = archive.read("content.xml").decode()
    if citation.page is not None:
        markup = re.split(r"<draw:page |<table:table (?=table:name)", markup)[citation.page]
    return html.unescape(re.sub(r"<[^>]*>", " ", markup))


def _rich_text(content: bytes, file: CitedFile, citation: Citation) -> str:
    """Return the whole text, whose lines no program shows."""
    return re.sub(rb"\\[a-z]+-?\d* ?|[{}\r\n]", b"", content).decode("latin-1")


_READERS: Mapping[str, Callable[[bytes, CitedFile, Citation], str]] = {
    ".html": _markup,
    ".svg": _markup,
    ".eml": _mail,
    ".msg": _outlook_message,
    ".docx": _word_document,
    ".epub": _chapter,
    ".odt": _open_document,
    ".odp": _open_document,
    ".ods": _open_document,
    ".rtf": _rich_text,
    ".pptx": _slide,
    ".xlsx": _sheet,
    ".pdf": _page,
    ".vtt": _cues,
    ".srt": _cues,
}
