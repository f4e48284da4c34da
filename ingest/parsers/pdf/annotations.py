"""Texts that stand on a page apart from its contents: values of form fields, notes and attached files."""

import ctypes
from collections.abc import Callable
from typing import Any, Final

from ingest.parsers.outline_writer import one_line

#: annotations that are read of one page, attachments of one document, and characters of one text
MAX_ANNOTATIONS, MAX_ATTACHMENTS, MAX_CHARS = 2_000, 1_000, 20_000
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
    from pypdfium2 import raw

    texts: dict[str, None] = {}
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), MAX_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            texts[one_line(_text_of(annotation, form))] = None
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    texts.pop("", None)
    return list(texts)


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
        return _file_text(annotation, text)
    if not text.strip() or _value(annotation, b"StateModel"):  # a state that a reviewer set: "Accepted"
        return ""
    author = _value(annotation, b"T").strip()
    return f"Note by {author}: {text}" if author else f"Note: {text}"


def _file_text(annotation: Any, text: str) -> str:
    from pypdfium2 import raw

    attachment = raw.FPDFAnnot_GetFileAttachment(annotation)
    name = _string(raw.FPDFAttachment_GetName, attachment) if attachment else ""
    return f"Attachment: {': '.join(filter(None, (name, text)))}" if name or text else ""


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
