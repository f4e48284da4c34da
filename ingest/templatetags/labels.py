"""Labels of kinds and states, their tones (`good`, `busy`, `bad` or none), and number formats."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from ingest.connectors.declaration import Words
from ingest.connectors.errors import translate_message
from ingest.connectors.kinds import kind_of
from ingest.jobs.queue.schedule import is_paused
from ingest.skip_messages import explanations
from search.models import Source, SourceKind, SourceState, Trust

register = template.Library()
register.filter(translate_message)

# The tone and the label of each state.
_SOURCE_STATES: Final[Mapping[str, tuple[str, Words]]] = MappingProxyType(
    {
        SourceState.PENDING: ("", gettext_lazy("Not synced yet")),
        SourceState.INDEXING: ("busy", gettext_lazy("Syncing")),
        SourceState.INDEXED: ("good", gettext_lazy("Up to date")),
        SourceState.ERROR: ("bad", gettext_lazy("Last sync failed")),
    }
)


@register.filter
def source_kind(kind: str) -> str:
    """Return the label of a source's kind."""
    return str(kind_of(kind).label)


@register.filter
def trust_label(level: str) -> str:
    """Return the label of a level of trust."""
    return str(Trust(level).label) if level in Trust.values else level


@register.filter
def source_icon(kind: str) -> str:
    """Return the name of the icon of a source's kind."""
    return kind_of(kind).icon


@register.filter
def source_tone(source: Source) -> str:
    """Return the tone of a source's state."""
    return "bad" if is_paused(source) else _SOURCE_STATES.get(source.state, ("", ""))[0]


@register.filter
def source_state(source: Source) -> str:
    """Return the label of a source's state; upload sources are never read or synced."""
    if is_paused(source):
        return _("Schedule paused")
    if source.kind == SourceKind.UPLOAD and source.state == SourceState.PENDING:
        return _("No files yet")
    return str(_SOURCE_STATES.get(source.state, ("", source.state))[1])


@register.filter
def reason_text(reason: str) -> str:
    """Return what the reason for refusing a file means, and what to do."""
    return _(explanations([reason]).get(reason, reason))


@register.filter
def every_minutes(minutes: int) -> str:
    """Return an interval in the largest unit of which it is a whole multiple."""
    days, hours = minutes // (24 * 60), minutes // 60
    if minutes % (24 * 60) == 0:
        return ngettext("Every day", "Every %(n)d days", days) % {"n": days}
    if minutes % 60 == 0:
        return ngettext("Every hour", "Every %(n)d hours", hours) % {"n": hours}
    return ngettext("Every minute", "Every %(n)d minutes", minutes) % {"n": minutes}


@register.filter
def reads(source: Any, may_change: bool) -> str:
    """Return the folder or address that a source reads, whole for who may change it; '' for uploads."""
    config = source.config if may_change else source.masked_config
    if bucket := config.get("bucket"):
        return f"{config['url'].rstrip('/')}/{bucket}/{config.get('prefix', '')}"
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
