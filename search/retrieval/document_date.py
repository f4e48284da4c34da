"""The date and the author of a document, as its metadata states them."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

from search.retrieval.query.dates import read_period

MAX_AUTHOR_CHARS: Final = 200

# In a file's properties, its front matter, or its header; the later of several is meant.
_DATES: Final = ("modified", "updated", "date", "created")
_AUTHORS: Final = ("author", "authors", "creator")
# A clock that was never set, and a date that is meant for something else.
_FIRST: Final = datetime(1900, 1, 1, tzinfo=UTC)
_AHEAD: Final = timedelta(days=366)
_MAX_DATE_CHARS: Final = 100
_MAX_AUTHORS: Final = 50
_MAX_RAW_CHARS: Final = 1_000


def known_date(metadata: Mapping[str, Any], *, modified_at: datetime | None) -> datetime | None:
    """Return the stated date, else the time of the file's or page's change; None if neither is known."""
    return stated_date(metadata) or _believe(modified_at)


def stated_date(metadata: Mapping[str, Any]) -> datetime | None:
    """Return the date of a document with this metadata; one without a time zone is in UTC."""
    dates = (_believe(_parse_date(metadata.get(name))) for name in _DATES)
    return next((date for date in dates if date is not None), None)


def stated_author(metadata: Mapping[str, Any]) -> str:
    """Return the authors of a document with this metadata, separated by commas; '' for none."""
    for name in _AUTHORS:
        names = dict.fromkeys(author_names(metadata.get(name)))
        if author := ", ".join(filter(None, names))[:MAX_AUTHOR_CHARS].rstrip(", "):
            return author
    return ""


def time_of_ns(mtime_ns: int | None) -> datetime | None:
    """Return the time of a file's change, given in nanoseconds since 1970."""
    if mtime_ns is None:
        return None
    try:
        return datetime.fromtimestamp(mtime_ns // 1_000 / 1e6, UTC)
    except (ValueError, OverflowError):
        return None


def parse_http_date(text: str) -> datetime | None:
    """Return the date of a header of HTTP or mail; None for anything else."""
    try:
        return _with_zone(parsedate_to_datetime(text))
    except (ValueError, OverflowError, IndexError):
        return None


def _parse_date(value: object) -> datetime | None:
    text = str(value).strip() if isinstance(value, str | int) else ""
    if not text or len(text) > _MAX_DATE_CHARS:
        return None
    try:
        return _with_zone(datetime.fromisoformat(text))
    except ValueError:
        pass
    period = read_period(text)
    return period[0] if period is not None else parse_http_date(text)


def _with_zone(date: datetime) -> datetime:
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _believe(date: datetime | None) -> datetime | None:
    return date if date is not None and _FIRST <= date <= datetime.now(UTC) + _AHEAD else None


def author_names(value: object) -> Iterator[str]:
    """Yield the names of authors, stated as texts or as objects with a name."""
    for each in value[:_MAX_AUTHORS] if isinstance(value, list | tuple) else [value]:
        name = each.get("name") if isinstance(each, Mapping) else each
        if isinstance(name, str):
            words = " ".join(name[:_MAX_RAW_CHARS].split())
            yield "".join(filter(str.isprintable, words))
