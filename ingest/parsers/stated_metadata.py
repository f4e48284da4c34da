"""Author and dates that a document states, under the names that all formats share."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, Final

from search.retrieval.document_date import author_names as names_of

#: shared name -> names in documents, in order of their precedence, lower case without `-` and `_`
NAMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "author": ("author", "authors", "creator", "dccreator", "by", "byline"),
        "created": (
            *("created", "date", "published", "datepublished", "publishdate", "pubdate", "publishedat"),
            *("publicationdate", "createdat", "creationdate"),
        ),
        "modified": (
            *("modified", "updated", "lastmod", "lastmodified", "lastupdated", "datemodified", "updatedat"),
            *("modifiedat", "revdate"),
        ),
    }
)
FORMATS: Final = (
    *("%Y-%m-%d %H:%M:%S %z", "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d", "%d.%m.%Y"),
    *("%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%d %b %Y", "%B %d %Y", "%B %Y"),
    *("%B %d, %Y %I:%M %p", "%B %d, %Y %H:%M", "%b %d, %Y %H:%M", "%b %d, %Y %I:%M %p"),
)
MAX_CHARS: Final = 500
# What programs write where nobody states an author.
_NOBODY: Final = frozenset({"anonymous", "(anonymous)", "(unspecified)", "unknown", "openpyxl"})
# The author of the template that a program begins each document with, whose dates are the template's.
_TEMPLATE_AUTHOR: Final = "python-docx"
ADDRESS = re.compile(r"\s*<[^<>\s]*@[^<>\s]*>")


def stated_metadata(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return `author`, `created` and `modified` (ISO 8601), each only where a field states it."""
    by_name = {re.sub("[-_ ]", "", str(name)).lower(): value for name, value in fields.items()}
    found: dict[str, str] = {}
    for shared, names in NAMES.items():
        read = author_names if shared == "author" else iso_date
        texts = (read(by_name[name]) for name in names if name in by_name)
        if text := next(filter(None, texts), None):
            found[shared] = text
    return {} if found.get("author") == _TEMPLATE_AUTHOR else found


def author_names(value: Any) -> str | None:
    """Return the names of the authors, separated by commas; they may be texts, or objects with a name."""
    texts = (ADDRESS.sub("", name).strip() for name in names_of(value))
    named = (text for text in texts if text and text.lower() not in _NOBODY)
    return ", ".join(dict.fromkeys(named))[:MAX_CHARS] or None


def iso_date(value: Any) -> str | None:
    """Return a date, with its time where it is stated, in ISO 8601; None if it can't be told for sure.

    Dates in which day and month are both numbers are read in the order of their separators: `2024/05/31` and
    `31.05.2024`, but not `05/06/2024`.
    """
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    text = " ".join(str(value).split())[:80]
    if re.fullmatch(r"(?:19|20)\d\d(?:-\d\d)?", text):
        return text
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return moment.date().isoformat() if len(text) <= len("2024-05-31") else moment.isoformat()
    for form in FORMATS:
        with suppress(ValueError):
            moment = datetime.strptime(text, form)
            if form == "%B %Y":
                return moment.strftime("%Y-%m")
            return moment.isoformat() if "%M" in form else moment.date().isoformat()
    with suppress(ValueError, TypeError, IndexError, OverflowError):  # last, as it ignores AM and PM
        return parsedate_to_datetime(text).isoformat()
    return None
