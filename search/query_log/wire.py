"""Query statistics as JSON-ready dicts. Absent values are None, never omitted."""

from kebab.wire import Wire, to_wire
from search.query_log.statistics import Analytics

VERSION = "analytics.v1"


def analytics_to_wire(slug: str, found: Analytics) -> Wire:
    """Return an `analytics.v1` of the workspace `slug`."""
    facts = to_wire(found, include={"days", "since", "kept_days", "total", "degraded"})
    return {
        "schema_version": VERSION,
        "workspace": slug,
        **facts,
        "doors": [{"door": door, "queries": queries} for door, queries in found.doors],
        "top_queries": list(map(to_wire, found.top_queries)),
        "no_hit_queries": list(map(to_wire, found.no_hit_queries)),
        "modes": [{"mode": mode, **to_wire(counts)} for mode, counts in found.modes],
        "by_day": [{"day": day.isoformat(), **to_wire(counts)} for day, counts in found.by_day],
    }
