"""Content of pages: path, size limit and charset, by address and Content-Type."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ingest.parsers.file_types import TYPES, code_language_of, extension_of, type_by_name
from search.documents.charset import charset_for_label

if TYPE_CHECKING:  # a child process imports this module, and has no settings
    from ingest.connectors.walk_rules import WalkRules

HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
#: Finding the links of a longer page would take more than a second.
MAX_HTML_BYTES: Final = 10 * 1024**2
#: Media types that servers send for content of unknown type.
_UNSPECIFIC: Final = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/x-download"}
)
# By media type, the extension by which parsers recognise the content.
_OWN_EXTENSIONS: Final = """
html md pdf epub docx pptx xlsx mbox msg json yaml xml eml csv vtt
"""
_EXTENSIONS: Final = {TYPES[each].mime: each for each in _OWN_EXTENSIONS.split()} | {
    "application/xhtml+xml": "html",
    "text/x-markdown": "md",
    "application/x-yaml": "yaml",
}
# Extensions of files without text; they are large, and not worth a request.
_NEVER_TEXT_NAMES = """
7z apk avi avif bin bmp bz2 class deb dmg eot exe flac gif gz ico img iso jar jpeg jpg m4a m4v mkv mov mp3 mp4
mpeg mpg msi ogg otf png rar rpm so svg svgz tar tgz tif tiff ttf wasm wav webm webp whl woff woff2 xz zip zst
"""
_NEVER_TEXT: Final = frozenset(_NEVER_TEXT_NAMES.split())
_CHARSET = re.compile(r"""charset\s*+=\s*+["']?\s*+([\w.:-]{2,40})""", re.IGNORECASE | re.ASCII)
_META = re.compile(rb"<meta\b[^>]{1,200}", re.IGNORECASE)
# The HTML standard requires the charset within 1,024 bytes; some pages exceed that.
_META_BYTES = 4_096
_MAX_RECODED_BYTES = 10 * 1024**2


def mime_of(content_type: str) -> str:
    """Return the media type of a Content-Type header, lower case, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def may_be_readable(path: str) -> bool:
    """Return whether the document at a path may have a parser, judged by its extension."""
    return extension_of(path) not in _NEVER_TEXT or type_by_name(path) is not None


def readable_path(path: str, mime: str) -> str | None:
    """Return the document path for content of media type `mime`; None when no parser reads it.

    The extension of the media type is appended if the path has another one: `intro` and `intro.php` with HTML
    become `intro.html` and `intro.php.html`.
    """
    known_type = type_by_name(path)
    extension = _EXTENSIONS.get(mime)
    if extension is not None:
        expected = type_by_name(f"page.{extension}")
        if expected is None:
            return None
        return path if known_type is not None and known_type.mime == expected.mime else f"{path}.{extension}"
    if mime.startswith("text/"):
        return path
    is_plausible = (
        mime in _UNSPECIFIC or mime.startswith("application/") or mime == getattr(known_type, "mime", None)
    )
    return path if known_type is not None and is_plausible else None


def limit_bytes(path: str, rules: "WalkRules") -> int:
    """Return the size limit of a page."""
    if code_language_of(path) is not None:
        return rules.max_code_bytes
    known_type = type_by_name(path)
    is_html = known_type is not None and known_type.mime in HTML
    return min(MAX_HTML_BYTES, rules.max_document_bytes) if is_html else rules.max_document_bytes


def to_utf8(content: bytes, content_type: str) -> bytes:
    """Convert text to UTF-8 from the valid charset that its server, or else the page, declares.

    Lines are unchanged. Content that is UTF-8 already, or declares no valid charset, is returned as it is.
    """
    is_text = mime_of(content_type).startswith("text/") or mime_of(content_type) in HTML
    if not is_text or len(content) > _MAX_RECODED_BYTES or _is_utf8(content):
        return content
    for declaration in (content_type, *_meta_elements(content, content_type)):
        found = _CHARSET.search(declaration)
        charset = charset_for_label("" if found is None else found[1])
        if charset is not None and not charset.startswith("utf"):
            with suppress(UnicodeError):
                return content.decode(charset).encode()
    return content


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _meta_elements(content: bytes, content_type: str) -> list[str]:
    if mime_of(content_type) not in HTML:
        return []
    return [found.decode("latin-1") for found in _META.findall(content[:_META_BYTES])]
