"""Kinds of text that readers of files leave out or can't read, and the sentences about them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

Unit = Literal["characters", "words", "lines", "rows", "parts", "files", "pages", "pictures"]
#: what a document leaves out as it is stored: amount and first places by kind
StoredOmissions = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class OmissionKind:
    """A kind of omission: its sentence, the unit of its amount, and whether it is on purpose."""

    sentence: str
    unit: Unit
    is_on_purpose: bool = True


def _(message: str) -> str:
    """Mark a message for translation without Django, which the parsers' processes don't load."""
    return message


#: kind of a document of which a large share of the visible text was not read
READ_IN_PART: Final = "read_in_part"
OMISSION_KINDS: Final[Mapping[str, OmissionKind]] = MappingProxyType(
    {
        # could not be read
        READ_IN_PART: OmissionKind(_("Read in part: much of its text was not found"), "words", False),
        "unreadable_parts": OmissionKind(_("Damaged or missing parts were not read"), "parts", False),
        "unreadable_pages": OmissionKind(_("Damaged pages were not read"), "pages", False),
        "unreadable_text": OmissionKind(
            _("Text whose characters the file does not name was not read"), "characters", False
        ),
        "closed_parts": OmissionKind(
            _("Parts that are encrypted or in a closed format were not read"), "parts", False
        ),
        "scanned_pages": OmissionKind(
            _("Pages that are pictures were not read: that takes OCR"), "pages", False
        ),
        "pictures": OmissionKind(_("Text in pictures was not read: that takes OCR"), "pictures", False),
        "drawings": OmissionKind(_("Drawings without stored text were not read"), "pictures", False),
        "beyond_limit": OmissionKind(
            _("Parts beyond the number that is read of one file were left out"), "parts", False
        ),
        # left out on purpose
        "site_parts": OmissionKind(
            _("Navigation, banners and other parts of the site around the page were left out"), "characters"
        ),
        "hidden_text": OmissionKind(_("Text that the file hides was left out"), "characters"),
        "hidden_rows": OmissionKind(_("Rows that the file hides were left out"), "rows"),
        "deleted_text": OmissionKind(_("Deleted text of tracked changes was left out"), "characters"),
        "outside_page": OmissionKind(_("Text outside of the visible page was left out"), "characters"),
        "placeholders": OmissionKind(_("Placeholders that nobody filled in were left out"), "characters"),
        "comments": OmissionKind(_("Comments were left out"), "parts"),
        "repeated_parts": OmissionKind(_("Parts that repeat earlier ones were left out"), "parts"),
        "repeated_lines": OmissionKind(
            _("Running heads, page numbers and other repeated lines were left out"), "lines"
        ),
        "line_numbers": OmissionKind(_("Line numbers were left out"), "lines"),
        "encoded_data": OmissionKind(_("Encoded data in the text was left out"), "characters"),
        "embedded_files": OmissionKind(_("Embedded files are named, not read"), "files"),
    }
)
#: labels of the units for pages, which translate them
_UNIT_LABELS: Final[Mapping[Unit, str]] = MappingProxyType(
    {
        "characters": _("characters"),
        "words": _("words"),
        "lines": _("lines"),
        "rows": _("rows"),
        "parts": _("parts"),
        "files": _("files"),
        "pages": _("pages"),
        "pictures": _("pictures"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OmissionView:
    """An omission as it is shown: the kind with its sentence, the amount, and the first places."""

    kind: str
    sentence: str
    amount: int
    unit: Unit
    is_on_purpose: bool
    where: tuple[str, ...]

    @property
    def message(self) -> str:
        """Return the sentence with amount and places, in English."""
        return self.translate(str)

    def translate(self, translated: Callable[[str], str]) -> str:
        """Return the message in another language."""
        places = f"; {', '.join(self.where)}" if self.where else ""
        label = translated(_UNIT_LABELS[self.unit])
        return f"{translated(self.sentence)} ({label}: {self.amount}{places})"


def omission_views(stored: StoredOmissions) -> list[OmissionView]:
    """Return the omissions of a document, what could not be read first; unknown kinds are left out."""
    return list(_views(stored))


def _views(stored: StoredOmissions) -> Iterator[OmissionView]:
    for name, kind in OMISSION_KINDS.items():
        if name in stored:
            yield OmissionView(
                kind=name,
                sentence=kind.sentence,
                amount=stored[name]["amount"],
                unit=kind.unit,
                is_on_purpose=kind.is_on_purpose,
                where=tuple(stored[name].get("where", ())),
            )
