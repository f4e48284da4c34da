"""Formats that only their own programs read: what to save their files as, and how the files are told."""

import io
import re
import zipfile
from typing import Final, NamedTuple

from ingest.parsers.errors import ParseRefused
from ingest.parsers.file_types import extension_of
from ingest.parsers.office.package import DAMAGE, DIRECTORY_ENTRY, MAX_PARTS, ZIP_START

#: extensions, what the files are, what to do, and marks: what a file begins with (^), streams of a compound
#: file, parts of a zip
_TABLE: Final = r"""
doc dot | Word 97-2003 documents (.doc) | save the file as .docx | WordDocument
ppt pps pot | PowerPoint 97-2003 presentations (.ppt) | save the file as .pptx | PowerPoint Document
xls xlt | Excel 97-2003 workbooks (.xls) | save the file as .xlsx | Workbook, Book
xlsb | Excel binary workbooks (.xlsb) | save the file as .xlsx | xl/workbook.bin
iwa | Files of Pages, Numbers and Keynote | export the file as .docx, .xlsx, .pptx or PDF | Index/Document.iwa
pages | Pages documents | export the file as Word (.docx) or PDF | Index/Document.iwa
numbers | Numbers spreadsheets | export the file as Excel (.xlsx) or PDF | Index/Document.iwa
key | Keynote presentations | export the file as PowerPoint (.pptx) or PDF | Index/Document.iwa
one onetoc2 onepkg | OneNote notebooks | export the pages as Word (.docx) or PDF | ^\xe4R\\\{\x8c\xd8\xa7M
vsd vss vst vsdx vsdm vstx | Visio drawings | save the file as PDF or SVG | VisioDocument, visio/document.xml
pub | Publisher files | save the file as PDF | Quill
mpp mpt | Project plans | save the file as PDF or .xlsx | Props14, Props12, Props9
wpd wp wp5 wp6 | WordPerfect documents | save the file as .docx or PDF | ^\xffWPC
wps | Works documents | save the file as .docx or PDF | MatOST
hwp hwpx | Hangul documents | save the file as .docx or PDF | FileHeader, Contents/section0.xml
sxw sxc sxi | OpenOffice.org 1 files | save the file as .odt, .ods or .odp | -
mdb accdb | Access databases | export the tables as .xlsx or .csv | ^\x00\x01\x00\x00Standard (?:Jet|ACE) DB
pst ost | Outlook data files | export the mails as .msg, .eml or .mbox | ^!BDN.{4}SM
tnef winmail.dat | Mails in Outlook's format (TNEF) | have the mail sent as HTML or save it as .msg | ^x\x9f>"
p7m p7s | Signed or locked mails (S/MIME) | save the mail as plain .eml | ^0.{1,8}\x06\t\*\x86H\x86\xf7\r\x01
pgp gpg | Encrypted mails and files (PGP) | decrypt it first | -
ps eps | PostScript files | save the file as PDF | ^%!PS, ^\xc5\xd0\xd3\xc6
xps oxps | XPS documents | save the file as PDF | FixedDocSeq.fdseq, FixedDocumentSequence.fdseq
djvu djv | DjVu documents | save the file as PDF | ^AT&TFORM
mobi azw azw3 prc | Kindle books | save the book as EPUB | ^.{60}BOOKMOBI
chm | Windows help files | export the pages as HTML or PDF | ^ITSF\x03\x00
dwg | AutoCAD drawings | save the file as PDF | ^AC10\d\d\x00
indd | InDesign documents | export the file as PDF or EPUB | ^\x06\x06\xed\xf5
"""
_OLD: Final = frozenset({"doc", "ppt", "xls"})


class ClosedFormat(NamedTuple):
    """A format that is not read, by the first of its extensions."""

    name: str
    extensions: frozenset[str]
    what: str
    remedy: str
    marks: frozenset[str]
    starts: tuple[re.Pattern[bytes], ...]

    @classmethod
    def parse(cls, row: str) -> "ClosedFormat":
        """Return the format of a row of the table."""
        extensions, what, remedy, marks = row.split(" | ")
        names = extensions.split()
        listed = marks.split(", ")
        starts = tuple(re.compile(mark.encode(), re.DOTALL) for mark in listed if mark.startswith("^"))
        return cls(names[0], frozenset(names), what, remedy, frozenset(listed), starts)

    def refusal(self) -> ParseRefused:
        """Return the refusal of a file, with the remedy."""
        detail = f"{self.what} are not read: {self.remedy}"
        return ParseRefused("old_format" if self.name in _OLD else "closed_format", detail)


CLOSED_FORMATS: Final = tuple(map(ClosedFormat.parse, _TABLE.strip().split("\n")))
_ANY_START: Final = re.compile(
    b"|".join(start.pattern for each in CLOSED_FORMATS for start in each.starts), re.DOTALL
)


def refusal_by_content(content: bytes, path: str) -> ParseRefused | None:
    """Return the refusal of a file that shows a closed format, or is locked; None for any other."""
    is_compound = content.startswith(OLE_START)
    if is_compound and has_stream(content, MESSAGE):
        return None
    if is_compound and has_stream(content, *LOCKED):
        return ParseRefused("encrypted", "a password locks the file: remove it and save the file again")
    closed = closed_format(content, path) or (format_by_name(path) if is_compound else None)
    if is_compound and closed is None:
        return ParseRefused("no_parser", "no parser for this kind of compound file (x-ole-storage)")
    return None if closed is None else closed.refusal()


def closed_format(content: bytes, path: str) -> ClosedFormat | None:
    """Return the closed format that the content shows; of several that of the name, else the first."""
    if not content.startswith((OLE_START, ZIP_START)) and _ANY_START.match(content) is None:
        return None
    parts = _zip_parts(content)
    fitting = [
        each
        for each in CLOSED_FORMATS
        if any(start.match(content) for start in each.starts)
        or not parts.isdisjoint(each.marks)
        or (content.startswith(OLE_START) and has_stream(content, *each.marks))
    ]
    named = format_by_name(path)
    return named if named in fitting else next(iter(fitting), None)


def format_by_name(path: str) -> ClosedFormat | None:
    """Return the closed format of which a file has the extension, or the whole name."""
    names = {extension_of(path), path.rpartition("/")[2].lower()}
    return next((each for each in CLOSED_FORMATS if not names.isdisjoint(each.extensions)), None)


def _zip_parts(content: bytes) -> frozenset[str]:
    if not content.startswith(ZIP_START) or content.count(DIRECTORY_ENTRY) > MAX_PARTS:
        return frozenset()
    try:
        return frozenset(zipfile.ZipFile(io.BytesIO(content)).namelist())
    except DAMAGE:
        return frozenset()


OLE_START: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: a directory entry: 64 bytes of name in UTF-16, 2 bytes with the length of the name and its terminator
ENTRY_BYTES: Final = 128
NAME_BYTES: Final = 64
#: stream of an Outlook message, which may contain Word's, too
MESSAGE: Final = "__properties_version1.0"
#: streams of a locked file, which has no others
LOCKED: Final = ("EncryptedPackage", "EncryptedSummary")


def has_stream(content: bytes, *names: str) -> bool:
    """Return whether a directory entry has one of the names; entries begin at multiples of their size."""
    return any(_has_entry(content, name) for name in names)


def _has_entry(content: bytes, name: str) -> bool:
    encoded = name.encode("utf-16-le")
    size = len(encoded) + 2
    wanted = encoded.ljust(NAME_BYTES, b"\0") + size.to_bytes(2, "little")
    position = content.find(wanted)
    while position >= 0:
        if position % ENTRY_BYTES == 0:
            return True
        position = content.find(wanted, position + 1)
    return False
