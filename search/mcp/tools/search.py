"""`search`: hits with their citations, as titles, snippets or whole passages."""

import time
from collections.abc import Mapping
from dataclasses import replace

from kebab.people.workspace_settings.registry import preference
from search.engine.readback import read_passages
from search.engine.search import milliseconds_since, scope_from, search_in
from search.mcp.call_context import Call
from search.mcp.tools.arguments import SearchArguments
from search.mcp.tools.token_budget import Frame, count_tokens, fitted, joined, on_one_line
from search.models import Door
from search.query_log.recorder import note_query
from search.retrieval.degradation import shortcomings
from search.retrieval.types import Mode, SearchHit, SearchQuery, SearchResult


def search_tool(call: Call, given: SearchArguments) -> str:
    """Answer with the hits, best first, as many as there is room for."""
    workspace = call.access.workspace
    query = SearchQuery(
        text=given.query,
        mode=Mode(given.mode),
        k=given.k or preference(workspace, "default_k"),
        filters=given.filters,
        snippet_chars=preference(workspace, "snippet_chars"),
    )
    started = time.perf_counter()
    scope = scope_from(workspace, query.filters, call.access.reader, None)
    found = search_in(workspace, scope, query, with_snippets=given.detail == "snippets")
    result = replace(found, took_ms=milliseconds_since(started))
    note_query(workspace, result, door=Door.MCP, caller=call.access.identity)
    call.step(1, 2, f"{len(result.hits)} hits")
    texts = {hit.chunk_id: hit.snippet for hit in result.hits}
    if given.detail == "passages":
        passages = read_passages(scope, list(texts))
        texts = {chunk_id: text for chunk_id, (_, text) in passages.items()}
    return hits_text(result, texts, given.max_tokens)


def hits_text(result: SearchResult, texts: Mapping[str, str], max_tokens: int) -> str:
    """Return the hits that have a text, '' for none of it, as far as they fit."""
    hits = [hit for hit in result.hits if hit.chunk_id in texts]
    if not hits:
        return joined("Nothing was found. Try other words, or fewer filters.", *shortcomings(result))
    frame = Frame(texts.values())
    blocks = [_hit_text(frame, hit, texts[hit.chunk_id]) for hit in hits]

    def foot(kept: int) -> str:
        return left_out(blocks, kept)

    head = "\n".join([frame.notice, *shortcomings(result)])
    return fitted(max_tokens, head, blocks, foot)


def left_out(blocks: list[str], kept: int) -> str:
    """Return what there was no room for; '' when all is there."""
    if kept == len(blocks):
        return ""
    needed = count_tokens(blocks[kept])
    return f"{len(blocks) - kept} more had no room; the next takes {needed} tokens. Ask with a larger budget."


def _hit_text(frame: Frame, hit: SearchHit, text: str) -> str:
    return frame.passage(
        hit.citation.uri,
        " > ".join(map(on_one_line, hit.heading_path)) or on_one_line(hit.title),
        text,
        n=hit.rank,
        chunk=hit.chunk_id,
        source=hit.source,
        version=hit.version,
        trust=hit.trust_level,
        score=f"{hit.score:.4f}",
    )
