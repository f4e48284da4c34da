"""Recording of queries: a search hands its query to the buffer in a microsecond.

The interfaces (API, pages, MCP, CLI) record, not the engine: evaluations, gates and benchmarks search, too.
"""

import atexit
from functools import cache

from django.conf import settings
from django.utils import timezone

from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import preference
from search.models import Door
from search.models.query_log import MAX_ASKED_CHARS
from search.query_log.buffer import LoggedQuery, QueryLog
from search.query_log.storage import KEPT_DAYS, store_queries
from search.retrieval.types import SearchResult


@cache
def query_log() -> QueryLog:
    """Return this process's query log, which is flushed every few seconds and when the process ends."""
    log = QueryLog(store_queries, every_s=settings.KEBAB_QUERY_LOG_EVERY_S)
    atexit.register(log.close)
    return log


def flush_query_log() -> None:
    """Flush the query log, if any query was ever recorded."""
    if query_log.cache_info().currsize:
        query_log().flush()


def record_query(workspace: Workspace, result: SearchResult, *, door: Door, caller: str) -> None:
    """Add a query and its `result` to the log, unless the workspace logs no queries.

    `caller` is an identity; it groups successive keystrokes and is not stored.
    """
    if not settings.KEBAB_QUERY_LOG_EVERY_S or not preference(workspace, KEPT_DAYS):
        return
    query_log().add(_to_logged_query(workspace, result, door, caller))


def _to_logged_query(workspace: Workspace, result: SearchResult, door: Door, caller: str) -> LoggedQuery:
    total = result.lexical_total
    return LoggedQuery(
        workspace_id=workspace.pk,
        text=result.query[:MAX_ASKED_CHARS],
        door=door,
        mode=result.mode,
        hits=result.relevant_hits,
        lexical_total=None if total is None else total.value,
        took_ms=result.took_ms,
        degraded=result.degraded,
        asked_at=timezone.now(),
        caller=caller,
    )
