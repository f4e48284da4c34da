"""Title and metadata of a PDF, as far as they can be trusted."""

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ingest.parsers.pdf.types import PageText

#: titles that programs write by default
NO_TITLE = re.compile(
    r"(?:untitled|unbenannt|sans titre|sin título|document\s*\d*|dokument\s*\d*|microsoft word|slide 1|print"
    r"|powerpoint.presentation|powerpoint-präsentation|about:blank|scan\w*|cover|layout 1|none|null|\W*)",
    re.IGNORECASE,
)
FILE_NAME = re.compile(
    r"(?:file|https?|data):|[\\/]\S*[\\/]|\.(?:docx?|odt|rtf|pptx?|xlsx?|indd|qxd|tex|dvi|html?|pdf|tmp|p65|fm|md)$",
    re.IGNORECASE,
)
PROGRAM = re.compile(r"^(?:Microsoft (?:Word|PowerPoint|Excel)) - ", re.IGNORECASE)
VALUE_CHARS = 500
#: ratio of a title's font size to that of its page's text
TITLE_SIZE = 1.25
TITLE_CHARS = 200
#: keys of a PDF's information dictionary, and the names of these fields in a document's metadata
KEYS = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
#: values that stand for a missing one
NO_VALUE = frozenset({"", "unspecified", "anonymous", "unknown", "none"})
#: ISO 32000-1, 7.9.4
DATE = re.compile(r"D:(\d{4})(\d{2})(\d{2})")


def stated_title(information: Mapping[str, str]) -> str | None:
    """Return the title that a person gave the document, None for file names and programs' defaults."""
    title = _clean(PROGRAM.sub("", information.get("Title", "")))[:TITLE_CHARS]
    is_named = not NO_TITLE.fullmatch(title) and not FILE_NAME.search(title) and "\ufffd" not in title
    return title if is_named else None


def printed_title(page: PageText) -> str | None:
    """Return the lines with the largest font in the page's upper half, if larger than its text."""
    if not page.lines:
        return None
    middle = (page.top + page.bottom) / 2
    sizes = [line.height for line in page.lines for _ in range(len(line.text))]
    upper = [line for line in page.lines if line.bottom > middle and any(map(str.isalpha, line.text))]
    largest = max((line.height for line in upper), default=0.0)
    if largest < TITLE_SIZE * median(sizes):
        return None
    title = " ".join(
        line.text for line in _first_run([line.height >= 0.95 * largest for line in upper], upper)
    )
    return title if len(title) <= TITLE_CHARS else None


def _first_run(fits: Sequence[bool], lines: Sequence[Any]) -> Sequence[Any]:
    start = fits.index(True)
    end = next((n for n in range(start, len(fits)) if not fits[n]), len(fits))
    return lines[start:end]


def stated_metadata(information: Mapping[str, str], pages: int) -> dict[str, Any]:
    """Return author, subject, keywords and date as the file states them, and its number of pages."""
    fields = {name: _clean(information.get(key, ""))[:VALUE_CHARS] for key, name in KEYS.items()}
    if date := DATE.match(information.get("CreationDate", "")):
        fields["created"] = "-".join(date.groups())
    return {name: value for name, value in fields.items() if value.lower() not in NO_VALUE} | {"pages": pages}


def _clean(text: str) -> str:
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
