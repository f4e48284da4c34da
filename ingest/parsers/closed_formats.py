"""Formats that only their own programs read: what to save their files as, and how the files are told."""

import io
import re
import zipfile
from dataclasses import dataclass
from typing import Final

from ingest.parsers.errors import ParseRefused
from ingest.parsers.file_types import extension_of
from ingest.parsers.office.ole import OLE_START, has_stream, is_locked, is_outlook_message
from ingest.parsers.office.package import DAMAGE, DIRECTORY_ENTRY, MAX_PARTS, ZIP_START

#: extensions, what the files are, what to do, and streams of a compound file or parts of a zip that show it
_TABLE: Final = """
doc dot | Word 97-2003 documents (.doc) | save the file as .docx | WordDocument
ppt pps pot | PowerPoint 97-2003 presentations (.ppt) | save the file as .pptx | PowerPoint Document
xls xlt | Excel 97-2003 workbooks (.xls) | save the file as .xlsx | Workbook, Book
xlsb | Excel binary workbooks (.xlsb) | save the file as .xlsx | xl/workbook.bin
 | Files of Pages, Numbers and Keynote | export the file as .docx, .xlsx, .pptx or PDF | Index/Document.iwa
pages | Pages documents | export the file as Word (.docx) or PDF | Index/Document.iwa
numbers | Numbers spreadsheets | export the file as Excel (.xlsx) or PDF | Index/Document.iwa
key | Keynote presentations | export the file as PowerPoint (.pptx) or PDF | Index/Document.iwa
one onetoc2 onepkg | OneNote notebooks | export the pages as Word (.docx) or PDF |
vsd vss vst vsdx vsdm vstx | Visio drawings | save the file as PDF or SVG | VisioDocument, visio/document.xml
pub | Publisher files | save the file as PDF | Quill
mpp mpt | Project plans | save the file as PDF or .xlsx | Props14, Props12, Props9
wpd wp wp5 wp6 | WordPerfect documents | save the file as .docx or PDF |
wps | Works documents | save the file as .docx or PDF | MatOST
hwp hwpx | Hangul documents | save the file as .docx or PDF | \x05HwpSummaryInformation, Contents/section0.xml
sxw sxc sxi | OpenOffice.org 1 files | save the file as .odt, .ods or .odp |
mdb accdb | Access databases | export the tables as .xlsx or .csv |
pst ost | Outlook data files | export the mails as .msg, .eml or .mbox |
tnef winmail.dat | Mails in Outlook's own format (TNEF) | have the mail sent as HTML, or save it as .msg |
p7m p7s | Signed or encrypted mails (S/MIME) | save the mail without signature and encryption as .eml |
pgp gpg | Encrypted mails and files (PGP) | decrypt it first |
ps eps | PostScript files | save the file as PDF |
xps oxps | XPS documents | save the file as PDF | FixedDocSeq.fdseq, FixedDocumentSequence.fdseq
djvu djv | DjVu documents | save the file as PDF |
mobi azw azw3 prc | Kindle books | save the book as EPUB |
chm | Windows help files | export the pages as HTML or PDF |
dwg | AutoCAD drawings | save the file as PDF |
indd | InDesign documents | export the file as PDF or EPUB |
"""
#: what files begin with, by the first of their extensions
_STARTS: Final = {
    "one": rb"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d|\xa1\x2f\xff\x43\xd9\xef\x76\x4c",
    "wpd": rb"\xffWPC",
    "mdb": rb"\x00\x01\x00\x00Standard (?:Jet|ACE) DB",
    "pst": rb"!BDN.{4}SM",
    "tnef": rb"\x78\x9f\x3e\x22",
    "p7m": rb"\x30.{1,8}\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07[\x02\x03]|-----BEGIN (?:PKCS7|CMS)-----",
    "ps": rb"%!PS|\xc5\xd0\xd3\xc6",
    "djvu": rb"AT&TFORM",
    "mobi": rb".{60}BOOKMOBI",
    "chm": rb"ITSF\x03\x00",
    "dwg": rb"AC10\d\d\x00",
    "indd": rb"\x06\x06\xed\xf5",
}
#: formats of old programs, by the first of their extensions
_OLD: Final = frozenset({"doc", "ppt", "xls"})

#: formats of locked mails and files
_ENCRYPTED: Final = frozenset({"p7m", "pgp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedFormat:
    """A format that is not read."""

    #: its first extension
    name: str
    extensions: frozenset[str]
    what: str
    remedy: str
    marks: tuple[str, ...]

    @property
    def is_encrypted(self) -> bool:
        """Return whether its files may be locked."""
        return self.name in _ENCRYPTED

    def refusal(self) -> ParseRefused:
        """Return the refusal of a file, with the remedy."""
        detail = f"{self.what} are not read: {self.remedy}"
        return ParseRefused("old_format" if self.name in _OLD else "closed_format", detail)


def _parse(row: str) -> ClosedFormat:
    extensions, what, remedy, marks = (field.strip(" ") for field in row.split("|"))
    return ClosedFormat(
        name=extensions.partition(" ")[0],
        extensions=frozenset(extensions.split()),
        what=what,
        remedy=remedy,
        marks=tuple(marks.split(", ")) if marks else (),
    )


CLOSED_FORMATS: Final = tuple(map(_parse, _TABLE.strip("\n").split("\n")))
_PATTERNS: Final = {name: re.compile(start, re.DOTALL) for name, start in _STARTS.items()}


def refusal_by_content(content: bytes, path: str) -> ParseRefused | None:
    """Return the refusal of a file that shows a closed format, or is locked; None for any other."""
    is_compound = content.startswith(OLE_START)
    if is_compound and is_outlook_message(content):
        return None
    if is_compound and is_locked(content):
        return ParseRefused("encrypted", "a password locks the file: remove it and save the file again")
    closed = closed_format(content, path) or (format_by_name(path) if is_compound else None)
    if is_compound and closed is None:
        return ParseRefused("no_parser", "no parser for this kind of compound file (x-ole-storage)")
    return None if closed is None else closed.refusal()


def closed_format(content: bytes, path: str) -> ClosedFormat | None:
    """Return the closed format that the content shows; of several that of the name, else the first."""
    fitting = [each for each in CLOSED_FORMATS if _begins_as(each, content)] or _formats_by_parts(content)
    named = format_by_name(path)
    return named if named in fitting else next(iter(fitting), None)


def format_by_name(path: str) -> ClosedFormat | None:
    """Return the closed format of which a file has the extension, or the whole name."""
    names = {extension_of(path), path.rpartition("/")[2].lower()}
    return next((each for each in CLOSED_FORMATS if not names.isdisjoint(each.extensions)), None)


def _begins_as(closed: ClosedFormat, content: bytes) -> bool:
    return closed.name in _PATTERNS and _PATTERNS[closed.name].match(content) is not None


def _formats_by_parts(content: bytes) -> list[ClosedFormat]:
    if content.startswith(OLE_START):
        return [each for each in CLOSED_FORMATS if any(has_stream(content, mark) for mark in each.marks)]
    if not content.startswith(ZIP_START) or content.count(DIRECTORY_ENTRY) > MAX_PARTS:
        return []
    try:
        names = frozenset(zipfile.ZipFile(io.BytesIO(content)).namelist())
    except DAMAGE:
        return []
    return [each for each in CLOSED_FORMATS if not names.isdisjoint(each.marks)]
