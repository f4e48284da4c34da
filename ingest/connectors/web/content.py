"""What a page is by its address and its Content-Type: whether it is read, under which path, how far, and
in which charset.
"""

import codecs
import re
from typing import Final

from ingest.connectors.walk_rules import WalkRules
from ingest.parsers.file_types import code_language_of, extension_of, type_by_name

HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
#: The links of a longer page would take a worker longer than a second to find.
MAX_HTML_BYTES: Final = 10 * 1024**2
#: Said of anything by servers that know nothing of it.
_UNSAID: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
# The extension that makes the parsers read what a server calls so, whatever the address ends in.
_EXTENSIONS: Final = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "md",
    "text/x-markdown": "md",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/json": "json",
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "application/xml": "xml",
    "text/csv": "csv",
    "text/vtt": "vtt",
}
# Of a link that ends like this nobody expects text; such files are large, and not worth a request.
_NEVER_TEXT_NAMES = """
7z apk avi avif bin bmp bz2 class deb dmg eot exe flac gif gz ico img iso jar jpeg jpg m4a m4v mkv mov mp3 mp4
mpeg mpg msi ogg otf png rar rpm so svg svgz tar tgz tif tiff ttf wasm wav webm webp whl woff woff2 xz zip zst
"""
_NEVER_TEXT: Final = frozenset(_NEVER_TEXT_NAMES.split())
# Charsets of the web by Python's name, each with the one that browsers take it for (WHATWG Encoding).
_CHARSETS: Final = {
    **{name: name for name in ("koi8-r", "koi8-u", "cp866", "cp874", "gb18030", "big5hkscs", "euc_jp")},
    **{f"cp{number}": f"cp{number}" for number in range(1250, 1259)},
    **{f"iso8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **dict.fromkeys(("ascii", "iso8859-1", "cp1252"), "cp1252"),
    **dict.fromkeys(("iso8859-9", "cp1254"), "cp1254"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "cp932"), "cp932"),
    **dict.fromkeys(("euc_kr", "cp949"), "cp949"),
    "big5": "big5hkscs",
    "iso2022_jp": "iso2022_jp",
}
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE | re.ASCII)
_META = re.compile(rb"<meta\b[^>]{1,200}", re.IGNORECASE)
# In which the charset must stand by the HTML standard is 1,024; pages take more.
_META_BYTES = 4_096
_MAX_RECODED_BYTES = 10 * 1024**2


def mime_of(content_type: str) -> str:
    """Return the media type of a Content-Type header, lower case, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def is_worth_asking(path: str) -> bool:
    """Return whether what a document path names may be something that is read."""
    return extension_of(path) not in _NEVER_TEXT or type_by_name(path) is not None


def readable_path(path: str, mime: str) -> str | None:
    """Return the path under which what a server calls `mime` is read; None when no parser reads it.

    A page whose address ends otherwise than its content wants gets the extension: `intro` and `intro.php`
    that are HTML become `intro.html` and `intro.php.html`.
    """
    named = type_by_name(path)
    extension = _EXTENSIONS.get(mime)
    if extension is not None:
        meant = type_by_name(f"page.{extension}")
        if meant is None:
            return None
        return path if named is not None and named.mime == meant.mime else f"{path}.{extension}"
    if mime.startswith("text/"):
        return path
    is_said_of_it = mime in _UNSAID or mime.startswith("application/") or mime == getattr(named, "mime", None)
    return path if named is not None and is_said_of_it else None


def limit_bytes(path: str, rules: WalkRules) -> int:
    """Return how many bytes of a page may be read."""
    if code_language_of(path) is not None:
        return rules.max_code_bytes
    named = type_by_name(path)
    is_html = named is not None and named.mime in HTML
    return min(MAX_HTML_BYTES, rules.max_document_bytes) if is_html else rules.max_document_bytes


def in_utf8(content: bytes, content_type: str) -> bytes:
    """Return text in UTF-8 where its server, or else the page, names another charset that it really is in.

    Lines stay what they are. What is UTF-8 already, or in a charset that is not named, is given as it is.
    """
    is_text = mime_of(content_type).startswith("text/") or mime_of(content_type) in HTML
    if not is_text or len(content) > _MAX_RECODED_BYTES or _is_utf8(content):
        return content
    for said in (content_type, *_metas(content, content_type)):
        try:
            charset = _CHARSETS[codecs.lookup(_named_charset(said)).name]
            return content.decode(charset).encode()
        except (LookupError, UnicodeError):
            continue
    return content


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _named_charset(said: str) -> str:
    found = _CHARSET.search(said)
    return "" if found is None else found[1]


def _metas(content: bytes, content_type: str) -> list[str]:
    if mime_of(content_type) not in HTML:
        return []
    return [found.decode("latin-1") for found in _META.findall(content[:_META_BYTES])]
