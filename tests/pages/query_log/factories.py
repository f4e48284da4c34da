"""Factories of logged queries."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from search.models import AskedQuery
from search.query_log.storage import fold_query


def make_query(workspace: Any, text: str, *, days_ago: float = 0, **fields: Any) -> AskedQuery:
    """Log a query `text`."""
    values = {
        "door": "page",
        "mode": "hybrid",
        "hits": 3,
        "lexical_total": 3,
        "took_ms": 10.0,
        "asked_at": timezone.now() - timedelta(days=days_ago),
    }
    return AskedQuery.objects.create(
        workspace=workspace, text=text, folded=fold_query(text), **{**values, **fields}
    )
