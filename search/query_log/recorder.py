"""Noting the queries that are asked: a search hands its query over in a microsecond and is done.

The doors note, not the engine: evaluations, gates and benchmarks search too, and ask nothing of the team's.
"""

import atexit
from functools import cache

from django.conf import settings
from django.utils import timezone

from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import preference
from search.models import Door
from search.models.query_log import MAX_ASKED_CHARS
from search.query_log.buffer import NotedQuery, QueryLog
from search.query_log.storage import KEPT_DAYS, keep_queries
from search.retrieval.types import SearchResult


@cache
def query_log() -> QueryLog:
    """Return this process's log, which is written every few seconds, at the latest when the process ends."""
    log = QueryLog(keep_queries, every_s=settings.KEBAB_QUERY_LOG_EVERY_S)
    atexit.register(log.close)
    return log


def write_noted_queries() -> None:
    """Write what waits, if anything was ever noted."""
    if query_log.cache_info().currsize:
        query_log().write()


def note_query(workspace: Workspace, result: SearchResult, *, door: Door, caller: str) -> None:
    """Have the log keep that `result` was given, unless the workspace keeps no queries.

    `caller` is an identity; it is not kept, and tells whose keystrokes follow each other.
    """
    if not settings.KEBAB_QUERY_LOG_EVERY_S or not preference(workspace, KEPT_DAYS):
        return
    query_log().note(_noted(workspace, result, door, caller))


def _noted(workspace: Workspace, result: SearchResult, door: Door, caller: str) -> NotedQuery:
    total = result.lexical_total
    return NotedQuery(
        workspace_id=workspace.pk,
        text=result.query[:MAX_ASKED_CHARS],
        door=door,
        mode=result.mode,
        hits=len(result.hits),
        lexical_total=None if total is None else total.value,
        took_ms=result.took_ms,
        degraded=result.degraded,
        asked_at=timezone.now(),
        caller=caller,
    )
