"""XFA forms: the XML that viewers draw in place of the page that asks to wait."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ingest.parsers.outline_writer import one_line
from ingest.parsers.pdf.types import PageText

#: characters of a page that stands in for a form, and its words in a file that doesn't say that it is one
MAX_PLACEHOLDER_CHARS: Final = 2_000
PLACEHOLDER: Final = re.compile(r"please wait|viewer may not be able|(?:adobe|acrobat) reader", re.IGNORECASE)
#: packets of a form, and bytes of them all
MAX_PACKETS, MAX_BYTES = 100, 16 * 1024**2
DECLARATION: Final = re.compile(rb"<\?xml[^>]{0,200}\?>")


def placeholder_chars(document: Any, pages: Sequence[PageText]) -> int:
    """Return the number of characters of a lone page that stands in for an XFA form, 0 without one."""
    from pypdfium2 import raw

    kind = raw.FPDF_GetFormType(document.raw)
    if len(pages) != 1 or kind not in (raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND):
        return 0
    text = "\n".join(line.text for line in pages[0].lines)
    is_placeholder = kind == raw.FORMTYPE_XFA_FULL or PLACEHOLDER.search(text)
    return len(text) if is_placeholder and len(text) <= MAX_PLACEHOLDER_CHARS else 0


def read_xfa(document: Any) -> list[str]:
    """Return the texts of the form of a document of pypdfium2 in the order of its template, a line each.

    Fields have their caption and value; values of repeated and of unknown fields follow in the order of the
    data. Empty if the form can't be read.
    """
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    packets = DECLARATION.sub(b"", b"".join(_packets(document)))
    root = etree.fromstring(b"<xfa>%b</xfa>" % packets, parser)
    if root is None:
        return []
    template = list(root.iter("{*}draw", "{*}field", "{*}exclGroup"))
    fields = {each.get("name"): each for each in template}
    data = list(_data(root))
    counts = Counter(name for name, _ in data)
    single = {name: value for name, value in data if counts[name] == 1 and name in fields}
    lines = [_line(each, single.get(each.get("name"), "")) for each in template]
    lines += [_line(fields.get(name), value, name) for name, value in data if name not in single]
    return [line for line in lines if line]


def _packets(document: Any) -> Iterator[bytes]:
    from pypdfium2 import raw

    left = MAX_BYTES
    for index in range(min(raw.FPDF_GetXFAPacketCount(document.raw), MAX_PACKETS)):
        size = ctypes.c_ulong()
        raw.FPDF_GetXFAPacketContent(document.raw, index, None, 0, size)
        left -= size.value
        if left < 0:
            break
        buffer = ctypes.create_string_buffer(size.value)
        if raw.FPDF_GetXFAPacketContent(document.raw, index, buffer, size.value, size):
            yield buffer.raw


def _data(root: Any) -> Iterator[tuple[str, str]]:
    """Yield name and text of each value in the data of the form."""
    for data in root.iterfind(".//{*}datasets/{*}data"):
        for each in data.iter("{*}*"):
            if not len(each) and (text := one_line(each.text or "")):
                yield each.tag.rpartition("}")[2], text


def _line(field: Any, value: str, name: str = "") -> str:
    """Return a text or a field as a line; a field that the template lacks is None and has its name."""
    if field is None:
        return f"{name}: {value}"
    caption = _text(field.find("{*}caption"))
    stored = value or _text(field.find("{*}value"))
    shown = _choices(field).get(stored, stored)
    if not caption and value:
        caption = field.get("name")
    return ": ".join(filter(None, (caption, shown)))


def _choices(field: Any) -> dict[str, str]:
    """Return what a list, a check box or a group of buttons shows for the values that it stores."""
    if field.tag.endswith("}exclGroup"):
        return {
            _text(each.find("{*}items")): _text(each.find("{*}caption"))
            for each in field.iterfind("{*}field")
        }
    items = [[_text(item) for item in items] for items in field.iterfind("{*}items")]
    if field.find("{*}ui/{*}checkButton") is not None:
        on, *others = items[0] if items else ["1"]
        return {on: "checked"} | dict.fromkeys((*others, "0", "off"), "")
    return dict(zip(items[1], items[0], strict=False)) if len(items) > 1 else {}


def _text(element: Any) -> str:
    return "" if element is None else one_line(" ".join(element.itertext()))
