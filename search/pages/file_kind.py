"""Kinds of files as readers know them: a word and an icon."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A kind of files."""

    label: "str | Promise"
    #: The name of its icon in Lucide.
    icon: str


_TEXT: Final = FileKind(label=_("Text"), icon="file-text")
_CODE: Final = FileKind(label=_("Code"), icon="code-xml")
_KINDS: Final = (
    (FileKind(label="Markdown", icon="file-text"), "md mdx markdown"),
    (FileKind(label=_("Word document"), icon="file-text"), "doc docx dotx odt rtf"),
    (FileKind(label=_("Spreadsheet"), icon="sheet"), "xls xlsx xlsm ods csv tsv"),
    (FileKind(label=_("Presentation"), icon="presentation"), "ppt pptx odp"),
    (FileKind(label="PDF", icon="file-type"), "pdf"),
    (FileKind(label=pgettext_lazy("kind of file", "Email"), icon="mail"), "eml msg mbox"),
    (FileKind(label=_("Web page"), icon="globe"), "html htm xhtml"),
    (FileKind(label=_("Notebook"), icon="notebook"), "ipynb"),
    (FileKind(label=_("Book"), icon="book-open"), "epub"),
    (FileKind(label=_("Transcript"), icon="captions"), "vtt srt"),
    (FileKind(label=_("Picture"), icon="image"), "png jpg jpeg gif webp tif tiff bmp svg"),
    (FileKind(label=_("Data"), icon="braces"), "json jsonl yaml yml toml xml ini properties"),
)
_BY_EXTENSION: Final[Mapping[str, FileKind]] = MappingProxyType(
    {extension: kind for kind, extensions in _KINDS for extension in extensions.split()}
)


def file_kind(path: str, code_lang: str | None = None) -> FileKind:
    """Return the kind of a file by the extension of its path; `code_lang` names the language of code."""
    name = path.rpartition("/")[2]
    known = _BY_EXTENSION.get(name.rpartition(".")[2].lower()) if "." in name else None
    return known or (_CODE if code_lang else _TEXT)
