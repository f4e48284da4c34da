"""PDFs written by hand: text at places of a page, annotations, form fields, attached files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

#: numbers of the objects that every file has; pages follow from FIRST_PAGE, two objects each
CATALOGUE, PAGES, FONT, FIRST_PAGE = 1, 2, 3, 1_000


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page, A4 without a box: lines of text as (left, bottom, text), and annotations as dictionaries."""

    lines: Sequence[tuple[float, float, str]] = ()
    annotations: Sequence[str] = ()
    size: int = 10
    rotation: int = 0
    box: str = "0 0 595 842"
    #: matrix of its text
    turn: str = ""
    #: operators after those of its lines, fonts beside F1, further resources, and entries of its dictionary
    operators: str = ""
    fonts: str = ""
    resources: str = ""
    entries: str = ""


def pdf_of(*pages: Page, catalogue: str = "", objects: Mapping[int, str] | None = None) -> bytes:
    """Return a PDF of these pages, with further objects by their numbers from 4 to 999."""
    written = dict(objects or {})
    numbers = [FIRST_PAGE + 2 * index for index in range(len(pages))]
    written[CATALOGUE] = f"<</Type/Catalog/Pages {PAGES} 0 R {catalogue}>>"
    kids = " ".join(f"{number} 0 R" for number in numbers)
    written[PAGES] = f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>"
    written[FONT] = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    for number, page in zip(numbers, pages, strict=True):
        content = "\n".join(_text_operator(page.size, *line) for line in page.lines)
        content = f"{page.turn} cm\n{content}" if page.turn else content
        content += f"\n{page.operators}"
        written[number] = (
            f"<</Type/Page/Parent {PAGES} 0 R/MediaBox[{page.box}]/Rotate {page.rotation}"
            f"/Resources<</Font<</F1 {FONT} 0 R{page.fonts}>>{page.resources}>>/Contents {number + 1} 0 R"
            f"/Annots[{' '.join(page.annotations)}]{page.entries}>>"
        )
        written[number + 1] = f"<</Length {len(content)}>>stream\n{content}\nendstream"
    return _file(written)


def stream(content: str, entries: str = "") -> str:
    """Return an object with contents, such as a picture, a group of a page or the XML of a form."""
    return f"<<{entries}/Length {len(content)}>>stream\n{content}\nendstream"


def literal(text: str) -> str:
    """Return a string of a PDF: in UTF-16, so that every character can be written."""
    return f"<feff{text.encode('utf-16-be').hex()}>"


def rows(left: float, top: float, texts: Iterable[str], pitch: float = 13) -> list[tuple[float, float, str]]:
    """Return texts as lines one below the other."""
    return [(left, top - pitch * number, text) for number, text in enumerate(texts)]


def across(*columns: Sequence[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """Return the lines of columns in the order of their rows, as programs write that print line by line."""
    longest = max(map(len, columns))
    return [column[row] for row in range(longest) for column in columns if row < len(column)]


def _text_operator(size: int, left: float, bottom: float, text: str) -> str:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /F1 {size} Tf {left} {bottom} Td ({escaped}) Tj ET"


def _file(objects: Mapping[int, str]) -> bytes:
    content = b"%PDF-1.7\n"
    table = b""
    for number in sorted(objects):
        table += b"%d 1\n%010d 00000 n \n" % (number, len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number].encode("latin-1"))
    size = max(objects) + 1
    trailer = f"trailer\n<</Size {size}/Root {CATALOGUE} 0 R>>\nstartxref\n{len(content)}\n%%EOF\n"
    return content + b"xref\n0 1\n0000000000 65535 f \n" + table + trailer.encode()
