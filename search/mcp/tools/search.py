"""`search`: hits with their citations, as titles, snippets or whole passages."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from search.engine.readback import read_passages
from search.engine.search import milliseconds_since, resolve_scope_at_seq, search_in_scope
from search.engine.several import search_several
from search.mcp.call_context import Call
from search.mcp.tools.arguments import SearchArguments
from search.mcp.tools.documents import passage_url
from search.mcp.tools.outputs import FoundText, Origin, ToolOutput
from search.mcp.tools.token_budget import fit_results, on_one_line
from search.models import Door
from search.query_log.recorder import record_query
from search.retrieval.degradation import degradation_messages
from search.retrieval.types import (
    DEFAULT_K,
    MAX_TEXT_CHARS,
    Fusion,
    Include,
    Mode,
    SearchHit,
    SearchQuery,
    SearchResult,
    Sort,
)
from search.settings.search_settings import SearchSettings

_PER_DOCUMENT: Final = 2
_NOTHING: Final = "Nothing was found. Try other words, or fewer filters."


def search_tool(call: Call, given: SearchArguments) -> ToolOutput:
    """Return the hits, best first, as many as fit the budget."""
    if call.others:
        return _search_several(call, given)
    workspace = call.access.workspace
    query = _build_query(call.access, given)
    started = time.perf_counter()
    scope = resolve_scope_at_seq(workspace, query.filters, call.access.reader, None)
    is_short = given.detail == "snippets"
    found = search_in_scope(workspace, scope, query, with_snippets=is_short)
    result = replace(found, took_ms=milliseconds_since(started))
    record_query(workspace, result, door=Door.MCP, caller=call.access.identity)
    call.step(1, 2, f"{len(result.hits)} hits")
    texts = {hit.chunk_id: hit.snippet for hit in result.hits}
    if given.detail == "passages":
        passages = read_passages(scope, list(texts))
        texts = {chunk_id: text for chunk_id, (_, text) in passages.items()}
    return hits_output(call, result, texts, given.max_tokens)


def _build_query(access: Access, given: SearchArguments) -> SearchQuery:
    settings = SearchSettings.of(access.workspace)
    return SearchQuery(
        text=given.query,
        operators=True,
        mode=Mode(given.mode),
        fusion=None if given.fusion is None else Fusion(given.fusion),
        sort=Sort(given.sort),
        k=given.k or settings.default_k,
        per_file_cap=_cap_of(given),
        fills_up=given.max_per_document is None,
        filters=given.filters,
        snippet_chars=settings.snippet_chars,
        include=(Include.TEXT,) if given.detail == "passages" else (),
        max_text_chars=MAX_TEXT_CHARS,
    )


def _cap_of(given: SearchArguments) -> int:
    """Return the most hits of one document; another order than by relevance has no limit of its own."""
    if given.max_per_document is not None:
        return given.max_per_document
    return _PER_DOCUMENT if Sort(given.sort) is Sort.RELEVANCE else 0


def _search_several(call: Call, given: SearchArguments) -> ToolOutput:
    k = given.k or DEFAULT_K
    found = search_several(
        call.accesses,
        lambda access: replace(_build_query(access, given), fills_up=False),
        k=k,
        per_workspace=k,
    )
    for access, result in found.by_workspace:
        record_query(access.workspace, result, door=Door.MCP, caller=access.identity)
    call.step(1, 2, f"{len(found.hits)} hits")
    blank = given.detail == "titles"
    shown = [
        _present_hit(call, each.workspace, each.hit, "" if blank else each.hit.text or each.hit.snippet)
        for each in found.hits
    ]
    messages = [
        f"{access.workspace.slug}: {message}"
        for access, result in found.by_workspace
        for message in (*_promoted(result), *degradation_messages(result))
    ]
    return fit_results(given.max_tokens, shown, messages if shown else [_NOTHING, *messages])


def hits_output(call: Call, result: SearchResult, texts: Mapping[str, str], max_tokens: int) -> ToolOutput:
    """Return the hits in `texts` that fit; a text of '' shows a hit without text."""
    hits = [hit for hit in result.hits if hit.chunk_id in texts]
    shown = [_present_hit(call, call.access.workspace, hit, texts[hit.chunk_id]) for hit in hits]
    messages = (*_promoted(result), *degradation_messages(result))
    return fit_results(max_tokens, shown, [*messages] if shown else [_NOTHING, *messages])


def _promoted(result: SearchResult) -> Iterator[str]:
    """Yield the answers that the team has written for the query."""
    for answer in result.promoted:
        yield "Promoted answer: " + " ".join(filter(None, (answer.title, answer.text, answer.url)))


def _present_hit(call: Call, workspace: Workspace, hit: SearchHit, text: str) -> FoundText:
    return FoundText(
        id=hit.chunk_id,
        title=" > ".join(map(on_one_line, hit.heading_path)) or on_one_line(hit.title),
        url=passage_url(call, workspace, hit),
        text=text or None,
        metadata=Origin(
            citation=hit.citation.uri,
            workspace=workspace.slug,
            source=hit.source,
            version=hit.version or None,
            trust_level=hit.trust_level,
            score=round(hit.score, 4),
            related=hit.related or None,
            lang=hit.lang if hit.other_language else None,
        ),
    )
