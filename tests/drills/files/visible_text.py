"""Independent readers of the text that a file shows, which share no code with those of the product."""

import email
import email.policy
import re
import shutil
import subprocess
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping
from email.message import EmailMessage
from io import BytesIO
from types import MappingProxyType

from lxml import etree, html

_WORD = re.compile(r"\w+")
# A word that goes on in the next line: readers differ in joining its parts.
_DIVIDED = re.compile(r"\S*[-\N{SOFT HYPHEN}\N{HYPHEN}]\n\s*\S*")
_SECONDS = 60
#: elements of a page that show no text of it, and those of the site around it
_UNSEEN = (
    *("script", "style", "head", "noscript", "template", "select", "svg", "iframe", "object"),
    *("nav", "footer"),
)
_INLINE = frozenset(
    {
        *(
            "a",
            "abbr",
            "b",
            "bdi",
            "bdo",
            "big",
            "cite",
            "code",
            "del",
            "dfn",
            "em",
            "font",
            "i",
            "ins",
            "kbd",
        ),
        *("mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var"),
        *("math", "mrow", "mi", "mn", "mo"),
    }
)
_STATED_CHARSET = re.compile(rb"charset=[\"']?([\w-]+)", re.IGNORECASE)
# lxml refuses text that states a charset.
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
# A control character in a string of a workbook.
_ESCAPED = re.compile(r"_x[0-9A-Fa-f]{4}_")
# A number that a cell without a format shows as it is stored.
_PLAIN_NUMBER = re.compile(r"-?\d{1,9}")

_DOCX_PARTS = re.compile(r"word/(document|footnotes|endnotes|comments|header\d*|footer\d*)\.xml")
_PPTX_PARTS = re.compile(r"ppt/(slides/slide|notesSlides/notesSlide)\d+\.xml")
_XLSX_SHEETS = re.compile(r"xl/worksheets/sheet\d+\.xml")


def words(text: str) -> set[str]:
    """Return the distinct words of a text, in compatible letters without case."""
    return set(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def visible_words(format_: str, content: bytes) -> set[str] | None:
    """Return the words that a file of the format shows, None where no independent reader reads it."""
    reader = READERS.get(format_)
    try:
        text = reader(content) if reader else None
    except (OSError, ValueError, LookupError, TypeError, zipfile.BadZipFile, etree.LxmlError, AttributeError):
        return None
    return None if text is None else words(text)


def _docx_text(content: bytes) -> str:
    return _parts_text(content, _DOCX_PARTS, "wordprocessingml", {"tab", "ptab", "br", "cr", "noBreakHyphen"})


def _pptx_text(content: bytes) -> str:
    return _parts_text(content, _PPTX_PARTS, "drawingml", {"br"})


def _parts_text(content: bytes, names: re.Pattern[str], vocabulary: str, breaks: set[str]) -> str:
    """Return the texts `t` of the parts of a package, one paragraph `p` a line."""
    texts: list[str] = []
    with zipfile.ZipFile(BytesIO(content)) as package:
        for name in filter(names.fullmatch, package.namelist()):
            for event, element in etree.iterparse(
                package.open(name), events=("start", "end"), remove_comments=True
            ):
                tag = etree.QName(element)
                if vocabulary in (tag.namespace or ""):
                    if tag.localname == "t" and event == "end":
                        texts.append(element.text or "")
                    elif tag.localname == "p" or (tag.localname in breaks and event == "end"):
                        texts.append("\n")
    return "".join(texts)


def _xlsx_text(content: bytes) -> str:
    """Return the texts of cells, and whole numbers where a cell shows them as they are stored."""
    with zipfile.ZipFile(BytesIO(content)) as package:
        shared = list(_shared_strings(package))
        texts = [
            text
            for name in filter(_XLSX_SHEETS.fullmatch, package.namelist())
            for text in _cell_texts(package.read(name), shared)
        ]
    return _ESCAPED.sub(" ", "\n".join(texts))


def _shared_strings(package: zipfile.ZipFile) -> Iterator[str]:
    if "xl/sharedStrings.xml" in package.namelist():
        for item in etree.fromstring(package.read("xl/sharedStrings.xml")).iterfind("{*}si"):
            yield _string_text(item)


def _string_text(item: etree._Element) -> str:
    """Return a string of a workbook without the readings above its characters."""
    return "".join(each.text or "" for each in [*item.iterfind("{*}t"), *item.iterfind("{*}r/{*}t")])


def _cell_texts(sheet: bytes, shared: list[str]) -> Iterator[str]:
    for cell in etree.fromstring(sheet).iterfind("{*}sheetData/{*}row/{*}c"):
        kind, value = cell.get("t"), cell.findtext("{*}v")
        if kind == "s" and value is not None:
            yield shared[int(value)]
        elif kind == "str" and value is not None:
            yield value
        elif kind == "inlineStr":
            yield from map(_string_text, cell.iterfind("{*}is"))
        elif kind in (None, "n") and cell.get("s", "0") == "0" and _PLAIN_NUMBER.fullmatch(value or ""):
            yield value or ""


def _odf_text(content: bytes) -> str:
    """Return the text in the body of an OpenDocument file."""
    with zipfile.ZipFile(BytesIO(content)) as package:
        root = etree.fromstring(package.read("content.xml"))
    for element in root.iter("{*}s", "{*}tab", "{*}line-break", "{*}p", "{*}h", "{*}note-body"):
        element.text = f"\n{element.text or ''}"
        element.tail = f"\n{element.tail or ''}"
    body = root.find("{*}body")
    return "" if body is None else "".join(body.itertext())


def _pdf_text(content: bytes) -> str | None:
    """Return the text of poppler's `pdftotext`, None where it is not installed or refuses the file."""
    program = shutil.which("pdftotext")
    if program is None:
        return None
    try:
        ended = subprocess.run(
            [program, "-enc", "UTF-8", "-", "-"],
            input=content,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.SubprocessError:
        return None
    return _DIVIDED.sub("\n", ended.stdout.decode(errors="replace"))


def _mail_text(content: bytes) -> str:
    """Return subject and bodies of a mail: its plain texts, those in HTML where it has none."""
    mail = email.message_from_bytes(content, policy=email.policy.default)
    bodies = {
        kind: [_part_text(part) for part in mail.walk() if part.get_content_type() == kind]
        for kind in ("text/plain", "text/html")
    }
    shown = bodies["text/plain"] or [_page_text(text) for text in bodies["text/html"]]
    return "\n".join([str(mail["Subject"] or ""), *shown])


def _part_text(part: EmailMessage) -> str:
    text = part.get_content()
    return text if isinstance(text, str) else ""


def _html_text(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        stated = _STATED_CHARSET.search(content)
        text = content.decode(stated[1].decode() if stated else "cp1252", errors="replace")
    return _page_text(text)


def _page_text(text: str) -> str:
    """Return the text of a page without its head, its scripts, and the parts of the site around it."""
    text = _DECLARATION.sub("", text)
    if not text.strip():
        return ""
    page = html.document_fromstring(text)
    etree.strip_elements(page, etree.Comment, etree.ProcessingInstruction, *_UNSEEN, with_tail=False)
    for element in page.iter():
        if element.tag not in _INLINE:
            element.text = f"\n{element.text or ''}"
            element.tail = f"\n{element.tail or ''}"
    return str(page.text_content())


READERS: Mapping[str, Callable[[bytes], str | None]] = MappingProxyType(
    {
        "docx": _docx_text,
        "pptx": _pptx_text,
        "xlsx": _xlsx_text,
        **dict.fromkeys(("odt", "ods", "odp", "odg"), _odf_text),
        "pdf": _pdf_text,
        "eml": _mail_text,
        "html": _html_text,
    }
)
