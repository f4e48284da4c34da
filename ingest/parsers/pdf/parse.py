"""Parser of PDF by pypdfium2, page by page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from ingest.parsers.errors import ParseRefused
from ingest.parsers.images.ocr import is_ocr_installed, paragraph_starts, recognise
from ingest.parsers.omissions import OmissionLog
from ingest.parsers.pdf.annotations import load_form, read_annotations, read_attachments, read_links
from ingest.parsers.pdf.bookmarks import read_bookmarks
from ingest.parsers.pdf.outline import lay_out, without_running_lines
from ingest.parsers.pdf.page_objects import LayerTests, PageObjects, has_layers
from ingest.parsers.pdf.page_text import read_page
from ingest.parsers.pdf.types import PageText, TextLine, letters_of
from ingest.parsers.pdf.xfa import placeholder_chars, read_xfa
from ingest.parsers.types import FileType, Outline, PageSpan
from kebab.sandbox.program import report_progress

#: pixels of a page's longer side for OCR: 200 dots per inch on A4
RENDERED_SIDE = 2_340
#: words of a stamp, a header and a page number, and share of the page that a picture below them covers
STAMP_WORDS, PICTURE_SHARE = 30, 0.6
#: characters that no language has, and their share of a page, from which on it is read as a picture
MIN_UNREADABLE, UNREADABLE_SHARE = 10, 0.3


def is_scanned(page: Any, objects: PageObjects, text: PageText) -> bool:
    """Return whether the text of the page is a picture's, but for a stamp on it; an empty page has none."""
    if not text.has_text:
        return bool(objects.pictures)
    words = sum(line.text.count(" ") + 1 for line in text.lines)
    is_stamp = words <= STAMP_WORDS and not objects.invisible
    return is_stamp and objects.picture_share(page) >= PICTURE_SHARE


def is_unreadable(text: PageText) -> bool:
    """Return whether a good part of the page's text is in no language."""
    characters = sum(len(line.text) for line in text.lines)
    return text.unreadable >= max(MIN_UNREADABLE, UNREADABLE_SHARE * (characters + text.unreadable))


def recognise_page(page: Any, text: PageText) -> PageText:
    """Return the page with the lines that OCR finds beyond its text, and that text below them.

    A page on which OCR finds nothing stays as it is.
    """
    scale = RENDERED_SIDE / max(1.0, *page.get_size())
    found = recognise(page.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB"))
    if not found:
        return text
    starts, known = set(paragraph_starts(found)), letters_of("".join(line.text for line in text.lines))
    lines = [
        TextLine(
            text=line.text,
            left=line.x / scale,
            right=(line.x + line.w) / scale,
            top=text.top - line.y / scale,
            bottom=text.top - (line.y + line.h) / scale,
            begins_paragraph=index in starts,
        )
        for index, line in enumerate(found)
        if not known or letters_of(line.text) not in known
    ]
    return replace(text, lines=(*lines, *text.lines), unreadable=0)


#: titles that programs write by default
NO_TITLE = re.compile(
    r"(?:untitled|unbenannt|sans titre|sin título|document\s*\d*|dokument\s*\d*|microsoft word|slide 1|print"
    r"|powerpoint.presentation|powerpoint-präsentation|about:blank|scan\w*|cover|layout 1|none|null|\W*)",
    re.IGNORECASE,
)
FILE_NAME = re.compile(
    r"(?:file|https?|data):|[\\/]\S*[\\/]|\.(?:docx?|odt|rtf|pptx?|xlsx?|indd|qxd|tex|dvi|html?|pdf|tmp|p65|fm|md)$",
    re.IGNORECASE,
)
PROGRAM = re.compile(r"^(?:Microsoft (?:Word|PowerPoint|Excel)) - ", re.IGNORECASE)
VALUE_CHARS = 500
#: ratio of a title's font size to that of its page's text
TITLE_SIZE = 1.25
TITLE_CHARS = 200
#: keys of a PDF's information dictionary, and the names of these fields in a document's metadata
KEYS = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
#: values that stand for a missing one
NO_VALUE = frozenset({"", "unspecified", "anonymous", "unknown", "none"})
#: ISO 32000-1, 7.9.4
DATE = re.compile(r"D:(\d{4})(\d{2})(\d{2})")


def stated_title(information: Mapping[str, str]) -> str | None:
    """Return the title that a person gave the document, None for file names and programs' defaults."""
    title = _clean(PROGRAM.sub("", information.get("Title", "")))[:TITLE_CHARS]
    is_named = not NO_TITLE.fullmatch(title) and not FILE_NAME.search(title) and "\ufffd" not in title
    return title if is_named else None


def printed_title(page: PageText) -> str | None:
    """Return the lines with the largest font in the page's upper half, if larger than its text."""
    if not page.lines:
        return None
    middle = (page.top + page.bottom) / 2
    sizes = [line.height for line in page.lines for _ in range(len(line.text))]
    upper = [line for line in page.lines if line.bottom > middle and any(map(str.isalpha, line.text))]
    largest = max((line.height for line in upper), default=0.0)
    if largest < TITLE_SIZE * median(sizes):
        return None
    title = " ".join(
        line.text for line in _first_run([line.height >= 0.95 * largest for line in upper], upper)
    )
    return title if len(title) <= TITLE_CHARS else None


def _first_run(fits: Sequence[bool], lines: Sequence[Any]) -> Sequence[Any]:
    start = fits.index(True)
    end = next((n for n in range(start, len(fits)) if not fits[n]), len(fits))
    return lines[start:end]


def stated_metadata(information: Mapping[str, str], pages: int) -> dict[str, Any]:
    """Return author, subject, keywords and date as the file states them, and its number of pages."""
    fields = {name: _clean(information.get(key, ""))[:VALUE_CHARS] for key, name in KEYS.items()}
    if date := DATE.match(information.get("CreationDate", "")):
        fields["created"] = "-".join(date.groups())
    return {name: value for name, value in fields.items() if value.lower() not in NO_VALUE} | {"pages": pages}


def _clean(text: str) -> str:
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())


#: a file of a few kilobytes can contain one page a million times
MAX_PAGES = 10_000
#: pages that OCR reads: each takes a second or more
MAX_RECOGNISED = 100
#: start of a PDF, before which there may be other bytes, such as the header of a message that it came in
START, MAX_START = b"%PDF-", 1_024
#: bytes at a file's end that contain its trailer
TAIL_BYTES = 2_048
_CUT = "the file ends before its end was written; read is what could be repaired"
TRAILER = b"trailer"
#: root of the page tree; a truncated file has lost the trailer that points to it
CATALOGUE = re.compile(rb"\b(\d{1,10}) (\d{1,5}) obj\s*<<[^<>]{0,2000}?/Type\s*/Catalog\b")


def parse_pdf(content: bytes, file: FileType) -> Outline:
    """Return the text of each page in reading order, of scanned pages by OCR where it is installed.

    Below it are the values of form fields, the notes and the targets of links, on the last page the names of
    attached files. The page that stands in for an XFA form is replaced by the form's texts.

    Raises:
        ParseRefused: it needs a password (`encrypted`), has no readable page even after pdfium's own repair
            (`damaged`), or too many pages (`too_many_pages`).
    """
    content = content[max(0, content.find(START, 0, MAX_START)) :]
    with _open_pdf(content) as document:
        reader = _PdfReader(form=load_form(document), layers=LayerTests() if has_layers(content) else None)
        for number in range(1, len(document) + 1):
            reader.read(document, number)
            report_progress()
        reader.replace_placeholder(document)
        reader.add_to_last_page(read_attachments(document))
        information = document.get_metadata_dict()
        if not any(page.has_text or page.extras for page in reader.pages):
            return _outline_without_text(reader, information)
        pages = without_running_lines(reader.pages)
        left_out = sum(len(page.lines) for page in reader.pages) - sum(len(page.lines) for page in pages)
        reader.omissions.omitted("repeated_lines", left_out)
        paged = lay_out(pages, read_bookmarks(document))
        paged.omissions = reader.omissions
        is_cut = b"%%EOF" not in content[-TAIL_BYTES:]
        return paged.outline(
            title=stated_title(information) or printed_title(reader.pages[0]),
            metadata=stated_metadata(information, len(document)),
            warnings=(_CUT,) if is_cut else (),
        )


@contextmanager
def _open_pdf(content: bytes) -> Iterator[Any]:
    from pypdfium2 import PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    try:
        document = _load_document(content)
    except PdfiumError as error:
        if error.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            message = "the PDF is encrypted; save a copy that opens without a password and add that"
            raise ParseRefused("encrypted", message) from None
        raise ParseRefused(
            "damaged", "the PDF is damaged beyond repair: no page of it can be found"
        ) from None
    with document:
        if len(document) > MAX_PAGES:
            message = f"the PDF has {len(document)} pages, at most {MAX_PAGES} are read; split it"
            raise ParseRefused("too_many_pages", message)
        yield document


def _load_document(content: bytes) -> Any:
    """Return the opened PDF, with a trailer appended where it has lost its own.

    pdfium rebuilds the table of objects itself, but only for a file with a trailer.
    """
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_FORMAT

    try:
        return PdfDocument(content)
    except PdfiumError as error:
        catalogue = None if TRAILER in content else CATALOGUE.search(content)
        if error.err_code != FPDF_ERR_FORMAT or catalogue is None:
            raise
    number, generation = catalogue.groups()
    return PdfDocument(
        content + b"\ntrailer\n<</Root %b %b R>>\nstartxref\n0\n%%%%EOF\n" % (number, generation)
    )


@dataclass(slots=True)
class _PdfReader:
    """Reader that collects the pages; those that neither pdfium nor OCR can read have no lines."""

    #: handle for form fields, None without
    form: Any = None
    #: None for a document without layers
    layers: LayerTests | None = None
    #: targets of links so far
    links: set[str] = field(default_factory=set)
    pages: list[PageText] = field(default_factory=list)
    omissions: OmissionLog = field(default_factory=OmissionLog)
    damaged: int = 0
    recognised: int = 0

    def read(self, document: Any, number: int) -> None:
        """Read page `number`, from 1."""
        from pypdfium2 import PdfiumError

        try:
            page = document[number - 1]
        except PdfiumError:
            self.damaged += 1
            self.omissions.omitted("unreadable_pages", where=f"page {number}")
            self.pages.append(PageText(number=number, lines=()))
            return
        # closed, or a long document would hold all of its pages in memory
        with closing(page):
            objects = PageObjects(page)
            hidden = objects.hide(page, self.layers)
            is_numbered = bool(self.pages) and self.pages[-1].line_numbers > 0
            text = replace(read_page(page, number, is_numbered=is_numbered), hidden=hidden)
            text = self._recognise(page, objects, text)
            links = read_links(page, [line.text for line in text.lines], self.links)
            self.pages.append(replace(text, extras=(*read_annotations(page, self.form), *links)))
            where = f"page {text.number}"
            self.omissions.omitted("unreadable_text", text.unreadable, where)
            self.omissions.omitted("hidden_text", text.hidden, where)
            self.omissions.omitted("outside_page", text.outside, where)
            self.omissions.omitted("line_numbers", text.line_numbers, where)

    def replace_placeholder(self, document: Any) -> None:
        """Put the texts of an XFA form in place of the page that stands in for it."""
        if not (characters := placeholder_chars(document, self.pages)):
            return
        self.omissions.omitted("placeholders", characters, "page 1")
        texts = read_xfa(document)
        if not texts:
            self.omissions.omitted("closed_parts", where="XFA form")
        self.pages[0] = replace(self.pages[0], lines=(), extras=(*texts, *self.pages[0].extras))

    def add_to_last_page(self, texts: Sequence[str]) -> None:
        """Add texts that stand on no page."""
        if texts:
            last = self.pages[-1]
            self.pages[-1] = replace(last, extras=(*last.extras, *texts))

    def _recognise(self, page: Any, objects: PageObjects, text: PageText) -> PageText:
        is_picture = is_scanned(page, objects, text)
        if not (is_picture or is_unreadable(text)):
            return text
        if is_ocr_installed() and self.recognised < MAX_RECOGNISED:
            self.recognised += 1
            return recognise_page(page, text)
        self.omissions.omitted("scanned_pages", int(is_picture), f"page {text.number}")
        return text


def _outline_without_text(reader: _PdfReader, information: Mapping[str, str]) -> Outline:
    """Return the outline of a PDF of pictures or empty pages. Raises ParseRefused if all are damaged."""
    count = len(reader.pages)
    if reader.damaged == count:
        raise ParseRefused("damaged", f"the PDF is damaged: none of its pages can be read ({count} in all)")
    return Outline(
        lines=(),
        blocks=(),
        origins=(PageSpan(1),),
        title=stated_title(information),
        metadata=stated_metadata(information, count),
        omissions=reader.omissions.listed(),
        warnings=(f"the PDF contains no text ({count} page{'s' if count > 1 else ''})",),
    )
