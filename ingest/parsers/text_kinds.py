"""Types of text files: the name decides, unless the content plainly contradicts it."""

import re
from codecs import BOM_UTF8

from ingest.parsers.file_types import XML_MIME, code_type, extension_of, type_as
from ingest.parsers.mail.mbox import is_mailbox
from ingest.parsers.markup.xml import is_text, root_of
from ingest.parsers.types import FileType

HTML_START = re.compile(
    rb"\s*(?:<!--(?:(?!-->).)*-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
#: a page without its outermost element, as programs save tables and letters under other names
FRAGMENT_START = re.compile(
    rb"\s*<(?:head|body|meta|title|style|table|div|p|h[1-6]|ul|ol|dl|center|font|section|article)"
    rb"(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
SVG_START = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)?(?:<!DOCTYPE\s+svg\b[^>]*>\s*)?<svg\b", re.DOTALL
)
XML_START = re.compile(rb"\s*<\?xml\s")
JSON_START = re.compile(rb"\s*(?:\{\s*(?:\"[^\"\n]{0,200}\"\s*:|\})|\[\s*(?:[\[{\"\d\]-]|true|false|null))")
NOTEBOOK_START = re.compile(rb"\s*\{\s*\"(?:cells|metadata|nbformat)\"\s*:")
#: what files with a parser of their own begin with -> one of its extensions
STARTS = {
    re.compile(rb"\s*BEGIN:VCALENDAR\b", re.IGNORECASE): "ics",
    re.compile(rb"\s*BEGIN:VCARD\b", re.IGNORECASE): "vcf",
    re.compile(rb"\s*<(?:mxfile|mxGraphModel)\b"): "drawio",
}
#: a line of a mail's header, and the headers of every mail: a sender, and a date, an id or its way
MAIL_START = re.compile(
    rb"^(?:From|To|Cc|Date|Subject|Message-ID|MIME-Version|Return-Path|Received|Delivered-To|Reply-To|Sender"
    rb"|(?:DKIM|ARC|X)-[\w-]{1,60}|Authentication-Results|Content-Type):[ \t]",
    re.IGNORECASE | re.MULTILINE,
)
MAIL_LINES = (
    re.compile(rb"^From:[ \t]", re.I | re.M),
    re.compile(rb"^(?:Date|Message-ID|Received):[ \t]", re.I | re.M),
)
WRITTEN_BY_PROGRAMS = re.compile(rb"^(?:MIME-Version|Received|Message-ID):[ \t]", re.I | re.M)
#: lines that a program may store above a header
MOST_LINES_BEFORE = 3
#: header of a page with its pictures in one file; its sender, if it states any, is a program
WEB_ARCHIVE = re.compile(rb"^Content-Type:[ \t]*(?:multipart/related|text/html)", re.I | re.M)
SAVED_BY = re.compile(rb"^From:[ \t]*\"?<?Saved by", re.I | re.M)
#: names under which Office programs and Confluence save such pages
OFFICE_NAMES = frozenset({"doc", "xls", "ppt"})
#: mail servers on the way add kilobytes above the sender
MAIL_HEADER_BYTES = 32 * 1024
BLANK_LINE = re.compile(rb"\r?\n\r?\n")
TAG = re.compile(rb"<[a-z!/]", re.IGNORECASE)
SHEBANG = re.compile(rb"#!\s*\S*?(?:env\s+(?:-\S+\s+)*)?([a-z]+)[0-9.]*\s")
INTERPRETERS = {
    "bash": "bash",
    "sh": "bash",
    "zsh": "bash",
    "python": "python",
    "node": "javascript",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php",
}
#: languages whose files may begin like an HTML page
MAY_BEGIN_AS_PAGE = frozenset({"php", "vue", "svelte", "astro", "javascript", "typescript"})
#: first elements of feeds, which servers name as pages
FEED_ROOTS = frozenset({"rss", "feed", "rdf"})
#: media that the file's name alone claims
TEXT_MEDIA = frozenset({"text", "code", "transcript"})


def text_kind(named: FileType | None, content: bytes, head: bytes, path: str) -> FileType:
    """Return the type of a text file.

    An HTML page is read as one whatever its name. A file named as a page or a drawing that holds no tag,
    and a file without a known name, get the type of their beginning.

    Args:
        named: type by the file's name, None for an unknown one.
        head: the first bytes of `content`.
    """
    head = head.removeprefix(BOM_UTF8)
    if named is None:
        return _sniff(content, head, path)
    if named.mime == XML_MIME:
        return _xml_kind(content, path)
    if named.media in TEXT_MEDIA and named.language not in MAY_BEGIN_AS_PAGE and HTML_START.match(head):
        return named if named.mime == "text/html" else type_as(path, "html")
    if named.media == "text" and (begun := _begun_type(head, path)) is not None:
        return begun
    if named.mime == "application/mbox" and MAIL_START.match(head):
        return type_as(path, "eml")  # one mail, without the line that begins each in a mailbox
    if named.mime == "text/plain" and MAIL_START.match(head) and WRITTEN_BY_PROGRAMS.search(head):
        return type_as(path, "eml") if _begins_mail(content[:MAIL_HEADER_BYTES]) else named
    if named.mime == "text/html" and root_of(head) in FEED_ROOTS:
        return type_as(path, "xml")
    if named.mime == "text/html" and not TAG.search(content):
        return _sniff(content, head, path)
    if named.mime == "image/svg+xml" and b"<svg" not in content:
        return _sniff(content, head, path)
    return named


def _sniff(content: bytes, head: bytes, path: str) -> FileType:
    if HTML_START.match(head) or (FRAGMENT_START.match(head) and b"</" in content):
        return type_as(path, "html")
    if SVG_START.match(head):
        return type_as(path, "svg")
    if XML_START.match(head):
        return _xml_kind(content, path)
    if NOTEBOOK_START.match(head) and b'"cell_type"' in head:
        return type_as(path, "ipynb")
    if JSON_START.match(head):
        return type_as(path, "json")
    if (begun := _begun_type(head, path)) is not None:
        return begun
    if _is_web_archive(content[:MAIL_HEADER_BYTES], path):
        return type_as(path, "mht")
    if _begins_mail(content[:MAIL_HEADER_BYTES]):
        return type_as(path, "eml")
    if head.startswith(b"From ") and is_mailbox(content[:MAIL_HEADER_BYTES]):
        return type_as(path, "mbox")
    shebang = SHEBANG.match(head)
    if shebang and (language := INTERPRETERS.get(shebang[1].decode("ascii"))):
        return code_type(path, language)
    return type_as(path, "txt")


def _begun_type(head: bytes, path: str) -> FileType | None:
    extension = next((extension for start, extension in STARTS.items() if start.match(head)), None)
    return None if extension is None else type_as(path, extension)


def _xml_kind(content: bytes, path: str) -> FileType:
    """Return the type of XML: a drawing, a page, another text, or code."""
    root = root_of(content)
    if root is None or not is_text(content, root):
        return type_as(path, "svg") if root == "svg" else code_type(path, "xml")
    return type_as(path, "html") if root == "html" else type_as(path, "xml")


def _begins_mail(start: bytes) -> bool:
    """Return whether a mail begins on one of the first lines: a sender, and a date, an id or its way.

    Text may quote such lines; below other lines than blank ones a header also has what only programs write.
    """
    found = MAIL_START.search(start)
    if found is None or start.count(b"\n", 0, found.start()) > MOST_LINES_BEFORE:
        return False
    header = BLANK_LINE.split(start[found.start() :], maxsplit=1)[0]
    needed = MAIL_LINES if not start[: found.start()].strip() else (*MAIL_LINES, WRITTEN_BY_PROGRAMS)
    return all(line.search(header) for line in needed)


def _is_web_archive(start: bytes, path: str) -> bool:
    """Return whether a mail's header is that of pages, with a program as the sender or a name of Office."""
    header = BLANK_LINE.split(start, maxsplit=1)[0]
    if not MAIL_START.match(header) or not WEB_ARCHIVE.search(header):
        return False
    is_mail = all(line.search(header) for line in MAIL_LINES)
    return not is_mail or SAVED_BY.search(header) is not None or extension_of(path) in OFFICE_NAMES
