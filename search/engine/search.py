"""`search(workspace, query)`, the entry point for HTTP, command line, pages and evaluation.

During concurrent writes the mirror may show an older state than Postgres. A document that is rewritten in
between is missing from both: its old chunks are deleted, its new ones not yet in the mirror. A caller that
waits for a change must miss nothing, so its search is repeated with a mirror that has caught up. Other
callers get the first result, with the lag.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

import apsw
from django.conf import settings

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.scope import SearchScope, resolve_scope
from search.corpus.seq_tokens import read_token
from search.engine.corpus import Corpus
from search.engine.cursors import add_cursor
from search.engine.hits import LateSnippets
from search.engine.ranking_snapshot import RankingSnapshot, ResultSnapshot
from search.engine.readback import read_first_chunks
from search.engine.run import CandidatesLost, Run, index_version_of, run_search
from search.engine.time_limit import limited_search
from search.metrics import count_search, stage
from search.mirror import local_mirrors
from search.mirror.files import MirrorError
from search.mirror.sync.snapshot import analysis_for, read_head
from search.retrieval.errors import NotSearchableYet
from search.retrieval.fusion.legs import PRIMARY_UNREACHABLE
from search.retrieval.fusion.post_fusion import Stages
from search.retrieval.query.conditions import Condition, NamedCondition
from search.retrieval.query.filters import SearchFilters
from search.retrieval.query.operators import may_have_operators, parse_operators
from search.retrieval.types import MAX_K, Mode, SearchQuery, SearchResult, Sort
from search.settings.search_settings import SearchSettings
from search.vectors.spaces import live_space

# Limits on the retries and on their total wait for mirrors; after them the result is marked as degraded.
_MAX_RETRIES = 5
_LIMIT_S = 2.0


class Attempt(Protocol):
    """One run of a search."""

    @property
    def has_lost_candidates(self) -> bool:
        """Return whether a candidate was no longer visible in the read-back."""

    @property
    def position(self) -> tuple[int, int]:
        """Return number and token of the change at which its candidates were found."""


A = TypeVar("A", bound=Attempt)


def retry_until_current(
    scope: SearchScope, attempt: Callable[[SearchScope], A]
) -> tuple[SearchScope, A, bool]:
    """Run a search under `scope` until no write has overtaken it; only once if it waits for no change.

    Return the scope, with the current head of the log, the last attempt, and whether that may have missed
    nothing but later changes. Raises Workspace.DoesNotExist.
    """
    deadline = time.monotonic() + _LIMIT_S
    found = attempt(scope)
    for _ in range(_MAX_RETRIES):
        scope = _refresh_head(scope, found)
        if not _may_be_incomplete(scope, found):
            return scope, found, True
        if scope.is_of_standby and found.position[0] > scope.head_seq:
            return scope, found, False
        try:
            local_mirrors.wait_for_seq(
                scope.workspace_id, scope.head_seq, limit_s=deadline - time.monotonic()
            )
        except NotSearchableYet:
            return scope, found, False
        found = attempt(scope)
    scope = _refresh_head(scope, found)
    return scope, found, not _may_be_incomplete(scope, found)


def _may_be_incomplete(scope: SearchScope, found: Attempt) -> bool:
    """Return whether an attempt may have missed chunks: a write overtook it, or its mirror left the log.

    Such a mirror followed a log that a restore or a failover has replaced.
    """
    if found.position == scope.head:
        return False
    return (scope.has_waited and found.has_lost_candidates) or not is_in_log(scope, found.position)


def is_in_log(scope: SearchScope, position: tuple[int, int]) -> bool:
    """Return whether a change is of the log that the scope saw; a pruned change is."""
    seq, token = position
    behind = scope.head_seq - seq
    if behind < len(scope.tokens):
        return behind >= 0 and scope.tokens[behind] == token
    return seq == 0 or read_token(scope.workspace_id, seq) in {token, 0}


def _refresh_head(scope: SearchScope, found: Attempt) -> SearchScope:
    """Read the head of the log again if a candidate was lost, as a write since the search began removed it.

    Read it again, too, if the mirror is ahead of the head at the start of the search.
    """
    if not found.has_lost_candidates and found.position[0] <= scope.head_seq:
        return scope
    head_seq, tokens = read_head(scope.workspace_id)
    return replace(scope, head_seq=head_seq, tokens=tokens)


def index_version(workspace: Workspace, mode: Mode) -> str:
    """Return the version of what answers in `mode`: the lexical index, the live space, or both."""
    return index_version_of(workspace, mode, live_space(workspace), analysis_for(workspace))


def search(
    workspace: Workspace,
    query: SearchQuery,
    *,
    reader: Reader = Reader(),  # noqa: B008 - it can't be changed
    min_seq: int | None = None,
    caller: str | None = None,
    with_snippets: bool | LateSnippets = True,
) -> SearchResult:
    """Answer `query` from what `reader` may read of `workspace`; the result names missing parts.

    The default reader sees the sources open to all members. With `min_seq`, wait within a limit until this
    node has applied that change. For a `caller`, an identity that is never reassigned, store the rest of the
    list for `search.engine.pages.fetch_next_page`. Without snippets, for callers that read whole chunks, the
    snippets of the hits are ''; a caller that shows some of the hits has these added to them by what
    `LateSnippets` get.
    Raises InvalidQuery and InvalidFilter for an invalid request, NotSearchableYet, Workspace.DoesNotExist.
    """
    started = time.perf_counter()
    scope = resolve_scope_at_seq(workspace, query.filters, reader, min_seq)
    result = search_in_scope(workspace, scope, query, caller=caller, with_snippets=with_snippets)
    result.took_ms = milliseconds_since(started)
    return result


def wait_until_searchable(workspace: Workspace, seq: int | None) -> None:
    """Wait within a limit until this node has applied a change; None: don't wait. Raises NotSearchableYet."""
    if seq is not None:
        local_mirrors.wait_for_seq(workspace.pk, seq, limit_s=settings.KEBAB_WAIT_LIMIT_S)


def resolve_scope_at_seq(
    workspace: Workspace, filters: SearchFilters, reader: Reader, min_seq: int | None
) -> SearchScope:
    """Return the scope of a search that begins when this node has applied change `min_seq`; None: now.

    Raises NotSearchableYet, Workspace.DoesNotExist.
    """
    wait_until_searchable(workspace, min_seq)
    with stage("scope"):
        return resolve_scope(workspace, filters, reader, has_waited=min_seq is not None)


@limited_search
def search_in_scope(
    workspace: Workspace,
    scope: SearchScope,
    query: SearchQuery,
    *,
    caller: str | None = None,
    with_snippets: bool | LateSnippets = True,
) -> SearchResult:
    """Answer `query` as `search` does, under a scope already resolved from its filters.

    `took_ms` is 0; the caller fills it in, including the time for the scope.
    """
    started = time.perf_counter()
    scope, query = apply_operators(workspace, scope, query)
    stages = SearchSettings.of(workspace).stages(query, scope.rules.boosts)
    if scope.rules.pins:
        stages = _apply_pins(scope, query, stages)
    scope, run, is_whole = retry_until_current(
        scope, partial(run_visible, workspace, query, stages, with_snippets)
    )
    if run.position != scope.head:
        local_mirrors.trigger_sync(workspace.pk)
    result = _build_result(query, run, scope=scope, is_whole=is_whole)
    are_staged = stages.are_any
    may_go_on = run.is_cut and run.window < MAX_K
    order = run.page.order(len(run.after.entries) if are_staged else len(run.ranked))
    if caller is not None and (len(order) > len(run.page.hits) or may_go_on):
        ranking = (
            RankingSnapshot.from_entries(query.mode, [run.after.entries[position] for position in order])
            if are_staged
            else RankingSnapshot.from_ranking(run.ranked.take(order))
        )
        snapshot = ResultSnapshot(
            query=run.query,
            result=result,
            position=run.position,
            space=scope.space,
            ranking=ranking,
            window=run.window,
            is_cut=run.is_cut,
            copies=run.copies,
            older=run.older,
        )
        result = add_cursor(result, snapshot, workspace.pk, caller, position=len(result.hits))
    timings_ms = {**run.ranked.timings_ms, **run.after.timings_ms}
    count_search(result, timings_ms, time.perf_counter() - started)
    return result


def apply_operators(
    workspace: Workspace, scope: SearchScope, query: SearchQuery
) -> tuple[SearchScope, SearchQuery]:
    """Return the scope with the operators typed in the query, and the query with its text without them.

    Channels other than the typed text stay as they are.
    """
    if not query.operators or not may_have_operators(query.text):
        return scope, query
    found = parse_operators(query.text, analysis_for(workspace), partial(_is_met, workspace, scope))
    if found is None:
        return scope, query
    bare = found.text
    channels = query.channels and query.channels.map(lambda text: bare if text == query.text else text)
    return replace(scope, operators=found), replace(query, bare_text=bare, channels=channels)


def _is_met(workspace: Workspace, scope: SearchScope, condition: Condition) -> bool:
    """Return whether anything that the reader may read meets a condition; True without a mirror."""
    try:
        with Corpus(workspace, scope).open_mirror() as view, view.limited_time():
            return bool(view.meeting([NamedCondition(name="", condition=condition)]).any())
    except (MirrorError, apsw.InterruptError):
        return True


def _apply_pins(scope: SearchScope, query: SearchQuery, stages: Stages) -> Stages:
    """Return the stages with the documents pinned for a query that its reader may see."""
    if query.sort is not Sort.RELEVANCE:
        return stages
    doc_ids = scope.rules.pinned(query.typed_text)
    if not doc_ids:
        return stages
    visible = read_first_chunks(scope, doc_ids)
    return replace(stages, pinned=tuple(visible[doc_id] for doc_id in doc_ids if doc_id in visible))


def run_visible(
    workspace: Workspace,
    query: SearchQuery,
    stages: Stages,
    with_snippets: bool | LateSnippets,
    scope: SearchScope,
) -> Run:
    """Run a search; again with all candidates read back from Postgres if a hit is missing there."""
    with local_mirrors.leg_threads() as threads:
        search_corpus = partial(
            run_search, query=query, stages=stages, with_snippets=with_snippets, executor=threads
        )
        with suppress(CandidatesLost):
            run = search_corpus(Corpus(workspace, scope))
            if not (run.has_lost_candidates and run.ranked.is_whole):
                return run
        again = search_corpus(Corpus(workspace, scope, trusts_mirror=False))
        return replace(again, has_lost_candidates=True)


def _build_result(query: SearchQuery, run: Run, *, scope: SearchScope, is_whole: bool) -> SearchResult:
    """Return the result of a run; `took_ms` is 0."""
    return SearchResult(
        query=query.text,
        mode=query.mode,
        index_version=run.version,
        # A mirror ahead of a standby shows what that has.
        seq=min(run.position[0], scope.head_seq) if scope.is_of_standby else run.position[0],
        lag=max(0, scope.head_seq - run.position[0]),
        took_ms=0.0,
        degraded=_degraded_parts(scope, run, is_whole),
        warnings=run.warnings,
        rerank=run.after.rerank,
        lexical_total=run.lexical_total,
        vector_window=run.vector_window,
        hits=run.page.hits,
        related_total=len(run.ranked.below_floor),
        corrected_query=run.corrected_query,
        did_you_mean=run.did_you_mean,
        explain=run.explanation,
        promoted=scope.rules.promoted(query.typed_text),
    )


def _degraded_parts(scope: SearchScope, run: Run, is_whole: bool) -> tuple[str, ...]:
    legs: tuple[str, ...] = run.ranked.degraded
    if not (is_whole or "lexical" in legs):
        legs = ("lexical", *legs)
    return (*legs, PRIMARY_UNREACHABLE) if scope.is_of_standby else legs


def milliseconds_since(started: float) -> float:
    """Return the milliseconds since `started`, a `time.perf_counter` value, to the microsecond."""
    return round((time.perf_counter() - started) * 1000, 3)
