"""PDF by pypdfium2, one page after the other."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from ingest.parsers.errors import ParseRefused
from ingest.parsers.images.ocr import INSTALL, is_ocr_installed
from ingest.parsers.pdf.bookmarks import read_bookmarks
from ingest.parsers.pdf.outline import lay_out
from ingest.parsers.pdf.page_text import read_page
from ingest.parsers.pdf.running import without_running_lines
from ingest.parsers.pdf.scanned import is_scanned, recognise_page
from ingest.parsers.pdf.titles import printed_title, stated_title, told_metadata
from ingest.parsers.pdf.types import PageText
from ingest.parsers.progress import report_progress
from ingest.parsers.types import FileType, Outline

#: a file of a few kilobytes can have one page a million times over
MAX_PAGES = 10_000
#: pages that are recognised from their picture: each takes a second or more
MAX_RECOGNISED = 100
#: so much at a file's end holds its trailer
TAIL_BYTES = 2_048
NAMED_PAGES = 10
TRAILER = b"trailer"
#: where the tree of pages begins; a file that was cut short has lost what says so
CATALOGUE = re.compile(rb"\b(\d{1,10}) (\d{1,5}) obj\s*<<[^<>]{0,2000}?/Type\s*/Catalog\b")


def parse_pdf(content: bytes, file: FileType) -> Outline:
    """Return the text of each page in reading order, pages without text by OCR where it is installed.

    Raises:
        ParseRefused: it needs a password (`encrypted`), can't be opened even after pdfium's own repair
            (`damaged`), has too many pages (`too_many_pages`), or no text that can be had (`no_text`).
    """
    with _opened(content) as document:
        reader = _Reader()
        for number in range(1, len(document) + 1):
            reader.read(document, number)
            report_progress()
        if not any(page.has_text for page in reader.pages):
            raise _nothing(reader)
        information = document.get_metadata_dict()
        paged = lay_out(without_running_lines(reader.pages), read_bookmarks(document))
        warnings = reader.warnings()
        if b"%%EOF" not in content[-TAIL_BYTES:]:
            warnings.append("the file ends before its end was written; read is what could be repaired")
        return Outline(
            lines=paged.lines,
            blocks=paged.blocks,
            origins=paged.origins,
            walls=tuple(paged.walls),
            title=stated_title(information) or printed_title(reader.pages[0]),
            metadata=told_metadata(information, len(document)),
            warnings=tuple(warnings),
        )


@contextmanager
def _opened(content: bytes) -> Iterator[Any]:
    from pypdfium2 import PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    try:
        document = _document(content)
    except PdfiumError as error:
        if error.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            told = "the PDF is encrypted; save a copy that opens without a password and add that"
            raise ParseRefused("encrypted", told) from None
        raise ParseRefused(
            "damaged", "the PDF is damaged beyond repair: no page of it can be found"
        ) from None
    with document:
        if len(document) > MAX_PAGES:
            told = f"the PDF has {len(document)} pages, at most {MAX_PAGES} are read; split it"
            raise ParseRefused("too_many_pages", told)
        yield document


def _document(content: bytes) -> Any:
    """Return the opened PDF; pdfium makes a new table of the objects itself, but only of a file with a
    trailer.
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
class _Reader:
    """The pages so far; those that can't be read or recognised have no lines."""

    pages: list[PageText] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    recognised: int = 0

    def read(self, document: Any, number: int) -> None:
        """Reads page `number`, from 1."""
        from pypdfium2 import PdfiumError

        try:
            page = document[number - 1]
        except PdfiumError:
            self.damaged.append(number)
            self.pages.append(PageText(number=number, lines=()))
            return
        # or a long document would keep all of its pages in memory
        with closing(page):
            text = read_page(page, number)
            self.pages.append(text if text.has_text else self._recognised(page, text))

    def _recognised(self, page: Any, empty: PageText) -> PageText:
        if not is_scanned(page):
            return empty
        if not is_ocr_installed() or self.recognised >= MAX_RECOGNISED:
            self.unread.append(empty.number)
            return empty
        self.recognised += 1
        return recognise_page(page, empty)

    def warnings(self) -> list[str]:
        """Return what is to be said about the pages."""
        told = []
        if self.damaged:
            told.append(f"damaged, so that nothing was read: {_named(self.damaged)}")
        if self.unread and is_ocr_installed():
            told.append(
                f"pictures beyond the {MAX_RECOGNISED} pages that are recognised: {_named(self.unread)}"
            )
        elif self.unread:
            told.append(f"pictures without text: {_named(self.unread)}; {INSTALL}")
        return told


def _named(pages: Sequence[int]) -> str:
    named = ", ".join(str(page) for page in pages[:NAMED_PAGES])
    more = f" and {len(pages) - NAMED_PAGES} more" if len(pages) > NAMED_PAGES else ""
    return f"pages {named}{more}" if len(pages) > 1 else f"page {named}"


def _nothing(reader: _Reader) -> ParseRefused:
    count = len(reader.pages)
    if len(reader.damaged) == count:
        return ParseRefused("damaged", f"the PDF is damaged: none of its pages can be read ({count} in all)")
    found = f"the PDF has no text ({count} page{'s' if count > 1 else ''})"
    if is_ocr_installed():
        return ParseRefused("no_text", f"{found}, and none was recognised in its pictures")
    return ParseRefused("no_text", f"{found}; where its pages are pictures of text, {INSTALL}")
