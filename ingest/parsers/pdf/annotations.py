"""Texts apart from the contents of a page: values of form fields, notes, targets of links, attached files."""

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, Final

from ingest.parsers.office.links import link_line
from ingest.parsers.outline_writer import one_line
from ingest.parsers.pdf.types import Box, letters_of

#: annotations that are read of one page, attachments of one document, and characters of one text
MAX_ANNOTATIONS, MAX_ATTACHMENTS, MAX_CHARS = 2_000, 1_000, 20_000
#: beginning of an address that texts leave out, and characters of a link's text
ADDRESS: Final = re.compile(r"(?:https?://(?:www\.)?|mailto:)", re.IGNORECASE)
LABEL_CHARS: Final = 300
#: flag of an annotation that no viewer shows, and of a field for a password
HIDDEN, PASSWORD = 1 << 1, 1 << 13
#: names of "checked" that say nothing else
CHECKED: Final = frozenset({"", "yes", "on", "1", "true", "ja", "oui", "si"})


def load_form(document: Any) -> Any:
    """Return the handle for the form fields of a document of pypdfium2, None without fields.

    Call it before pages are opened.
    """
    document.init_forms()
    return document.formenv.raw if document.formenv else None


def read_annotations(page: Any, form: Any) -> list[str]:
    """Return the filled-in fields, notes and attached files of a page, a line each, in their order.

    Fields have their label, notes their author. Links are left out; so is the text that is highlighted, which
    is that of the page.
    """
    texts = dict.fromkeys(one_line(_text_of(annotation, form)) for annotation in _annotations(page))
    texts.pop("", None)
    return list(texts)


def read_links(page: Any, lines: Iterable[str], known: set[str]) -> list[str]:
    """Return text and target of each link of a page to an address missing in its `lines`, a line each.

    Targets are added to `known`; those of other pages are left out, as a head or foot has them on each page.
    """
    boxes: dict[str, list[Box]] = {}
    for annotation in _annotations(page):
        target = _target(page.pdf, annotation)
        if ":" in target and target not in known:
            boxes.setdefault(target, []).append(_box(annotation))
    known.update(boxes)
    shown = letters_of("".join(lines)) if boxes else ""
    unknown = [target for target in boxes if letters_of(ADDRESS.sub("", target)) not in shown]
    if not unknown:
        return []
    with closing(page.get_textpage()) as text_page:
        texts = [" ".join(text_page.get_text_bounded(*box) for box in boxes[target]) for target in unknown]
    return [link_line(text[:LABEL_CHARS], target) for text, target in zip(texts, unknown, strict=True)]


def _annotations(page: Any) -> Iterator[Any]:
    from pypdfium2 import raw

    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), MAX_ANNOTATIONS)):
        if annotation := raw.FPDFPage_GetAnnot(page.raw, index):
            try:
                yield annotation
            finally:
                raw.FPDFPage_CloseAnnot(annotation)


def _target(document: Any, annotation: Any) -> str:
    """Return the address that a link leads to, '' for a place of the document and for what is no link."""
    from pypdfium2 import raw

    action = raw.FPDFLink_GetAction(raw.FPDFAnnot_GetLink(annotation))
    size = raw.FPDFAction_GetURIPath(document.raw, action, None, 0)
    buffer = ctypes.create_string_buffer(max(1, size))
    raw.FPDFAction_GetURIPath(document.raw, action, buffer, size)
    return buffer.value[:MAX_CHARS].decode(errors="replace")


def _box(annotation: Any) -> Box:
    from pypdfium2.raw import FS_RECTF, FPDFAnnot_GetRect

    rect = FS_RECTF()
    FPDFAnnot_GetRect(annotation, rect)
    return rect.left, rect.bottom, rect.right, rect.top


def read_attachments(document: Any) -> list[str]:
    """Return a line for each file attached to a document of pypdfium2."""
    from pypdfium2 import raw

    names: dict[str, None] = {}
    for index in range(min(document.count_attachments(), MAX_ATTACHMENTS)):
        if attachment := raw.FPDFDoc_GetAttachment(document.raw, index):
            names[one_line(_string(raw.FPDFAttachment_GetName, attachment))] = None
    return [f"Attachment: {name}" for name in names if name]


def _text_of(annotation: Any, form: Any) -> str:
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if raw.FPDFAnnot_GetFlags(annotation) & HIDDEN or kind in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP):
        return ""
    if kind == raw.FPDF_ANNOT_WIDGET:
        return _field_text(annotation, form) if form else ""
    text = _value(annotation, b"Contents")
    if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
        attachment = raw.FPDFAnnot_GetFileAttachment(annotation)
        name = _string(raw.FPDFAttachment_GetName, attachment) if attachment else ""
        return f"Attachment: {': '.join(filter(None, (name, text)))}" if name or text else ""
    if not text.strip() or _value(annotation, b"StateModel"):  # a state that a reviewer set: "Accepted"
        return ""
    author = _value(annotation, b"T").strip()
    return f"Note by {author}: {text}" if author else f"Note: {text}"


def _field_text(annotation: Any, form: Any) -> str:
    from pypdfium2 import raw

    name = _string(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation) or _string(
        raw.FPDFAnnot_GetFormFieldName, form, annotation
    )
    value = _field_value(annotation, form)
    return ": ".join(filter(None, (name.strip(), value.strip()))) if value.strip() else ""


def _field_value(annotation: Any, form: Any) -> str:
    """Return the value that the field shows; empty for an empty field, a button and a password."""
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        if not raw.FPDFAnnot_IsChecked(form, annotation):
            return ""
        value = _string(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation)
        return "checked" if value.casefold() in CHECKED or value.isdigit() else value
    if kind in (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        chosen = [
            _string(raw.FPDFAnnot_GetOptionLabel, form, annotation, index)
            for index in range(min(raw.FPDFAnnot_GetOptionCount(form, annotation), MAX_ANNOTATIONS))
            if raw.FPDFAnnot_IsOptionSelected(form, annotation, index)
        ]
        return ", ".join(chosen) or _string(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    if kind != raw.FPDF_FORMFIELD_TEXTFIELD or raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & PASSWORD:
        return ""
    return _string(raw.FPDFAnnot_GetFormFieldValue, form, annotation)


def _value(annotation: Any, key: bytes) -> str:
    from pypdfium2.raw import FPDFAnnot_GetStringValue

    return _string(FPDFAnnot_GetStringValue, annotation, key)


def _string(function: Callable[..., int], *arguments: Any) -> str:
    """Return the text that a function of pdfium writes in UTF-16 to a buffer, cut at MAX_CHARS."""
    from pypdfium2.raw import FPDF_WCHAR

    size = function(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(FPDF_WCHAR)), size)
    return buffer.raw[: min(size - 2, 2 * MAX_CHARS)].decode("utf-16-le", errors="replace")
