"""Labels of kinds and states, their tones (`good`, `busy`, `bad` or none), and number formats."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from django import template

from ingest.jobs.queue.schedule import is_paused
from ingest.skip_messages import explanations
from search.models import Source, SourceKind, SourceState

register = template.Library()

_SOURCE_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        SourceKind.UPLOAD: "Uploads",
        SourceKind.FOLDER: "Folder",
        SourceKind.GIT: "Git repository",
        SourceKind.WEB: "Web site",
    }
)
_SOURCE_STATES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        SourceState.PENDING: ("", "not read yet"),
        SourceState.INDEXING: ("busy", "being read"),
        SourceState.INDEXED: ("good", "up to date"),
        SourceState.ERROR: ("bad", "last sync failed"),
    }
)


@register.filter
def source_kind(kind: str) -> str:
    """Return the label of a source's kind."""
    return _SOURCE_KINDS.get(kind, kind)


@register.filter
def source_tone(source: Source) -> str:
    """Return the tone of a source's state."""
    return "bad" if is_paused(source) else _SOURCE_STATES.get(source.state, ("", ""))[0]


@register.filter
def source_state(source: Source) -> str:
    """Return the label of a source's state; upload sources are never read or synced."""
    if is_paused(source):
        return "schedule paused"
    if source.kind == SourceKind.UPLOAD and source.state == SourceState.PENDING:
        return "takes uploads"
    return _SOURCE_STATES.get(source.state, ("", source.state))[1]


@register.filter
def reason_text(reason: str) -> str:
    """Return what the reason for refusing a file means, and what to do."""
    return explanations([reason]).get(reason, reason)


@register.filter
def every_minutes(minutes: int) -> str:
    """Return an interval in the largest unit of which it is a whole multiple."""
    for size, unit in ((24 * 60, "day"), (60, "hour")):
        if minutes % size == 0:
            number = minutes // size
            return f"every {unit}" if number == 1 else f"every {number:,} {unit}s"
    return f"every {minutes:,} minutes"


@register.filter
def reads(source: Any) -> str:
    """Return the folder or address that a source reads; '' for uploads."""
    config = source.config
    return str(config.get("path") or config.get("url") or config.get("sitemap") or "")


@register.filter
def group_thousands(number: int) -> str:
    """Return an integer with thousands separators."""
    return f"{number:,}"


@register.filter
def duration(seconds: float | None) -> str:
    """Return seconds in the unit that fits their size; a dash for None."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


@register.filter
def megabytes(number: int) -> str:
    """Return a byte limit in MB or GB, decimal units as in the settings."""
    return f"{number / 1_000_000:,.3g} MB" if number < 1_000_000_000 else f"{number / 1_000_000_000:,.3g} GB"
