"""The tools that search a workspace, read a document, and find libraries and their documentation."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from kebab.errors import NotFound
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.documents.addresses import place_path
from search.engine.readback import read_passages
from search.engine.search import milliseconds_since, resolve_scope_at_seq, search_in_scope
from search.engine.several import search_several
from search.libraries.context import gather_context
from search.libraries.find import RankedLibrary, find_libraries
from search.libraries.formats import libraries_text, snippets_text
from search.libraries.library import choose_library
from search.mcp.call_context import Call
from search.mcp.tools.arguments import (
    FetchArguments,
    QueryDocsArguments,
    ResolveLibraryArguments,
    SearchArguments,
)
from search.mcp.tools.documents import (
    LineRange,
    ResolvedDocument,
    document_uri,
    has_lines,
    lines_of,
    passage_url,
    passages_at,
    passages_of,
    resolve_id,
)
from search.mcp.tools.outputs import (
    DocsOutput,
    FetchOutput,
    FoundText,
    LibrariesOutput,
    LibraryOutput,
    Origin,
    SnippetOutput,
    ToolOutput,
    dump,
)
from search.mcp.tools.token_budget import count_tokens, fit_results, fit_text, on_one_line
from search.models import Chunk, Door
from search.query_log.recorder import record_query
from search.retrieval.citation import Citation, citation_of
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

_BETWEEN: Final = "\n\n"


def fetch_tool(call: Call, given: FetchArguments) -> ToolOutput:
    """Return the requested lines or passages, as many as fit the budget."""
    access, target = _resolve(call, given.id)
    with acting_in(access.workspace.pk):
        return _Fetch(call=call, given=given, target=target, workspace=access.workspace).output()


def _resolve(call: Call, text: str) -> tuple[Access, ResolvedDocument]:
    """Look an id or citation up in the workspaces of the call. Raises NotFound, InvalidRequest."""
    *before, last = call.accesses
    for access in before:
        with suppress(NotFound), acting_in(access.workspace.pk):
            return access, resolve_id(access, text)
    with acting_in(last.workspace.pk):
        return last, resolve_id(last, text)


def _requested_lines(target: ResolvedDocument, given: FetchArguments) -> LineRange | None:
    if given.lines is not None:
        return LineRange.read(given.lines)
    place = target.citation
    if place is None or place.start is None or place.end is None or not has_lines(target.document):
        return None
    return LineRange(first=place.start, last=place.end)


def _too_small(text: str) -> str:
    return f"The text is cut: it takes {count_tokens(text)} tokens; ask with a larger max_tokens."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetch:
    """A call whose id is resolved."""

    call: Call
    given: FetchArguments
    target: ResolvedDocument
    workspace: Workspace

    def output(self) -> ToolOutput:
        """Return the lines or passages that fit."""
        given, document = self.given, self.target.document
        wanted = _requested_lines(self.target, given)
        if wanted is not None:
            return self._lines(wanted.widen(given.before, given.after))
        place = self.target.citation
        return self._passages(
            passages_at(document, place, before=given.before, after=given.after)
            if place is not None
            else passages_of(document, around=self.target.chunk, before=given.before, after=given.after)
        )

    def _lines(self, wanted: LineRange) -> ToolOutput:
        document = self.target.document
        texts, total = lines_of(document, wanted)

        def describe(text: str, kept: int) -> FetchOutput:
            after = wanted.first + kept
            cited = Citation(
                kind="line", path=document.path, start=wanted.first, end=max(after - 1, wanted.first)
            )
            if not texts:
                more = f"The document has {total} lines; there is none from line {wanted.first} on."
            elif kept == 0:
                more = _too_small(texts[0])
            elif after > min(wanted.last, total):
                more = None
            else:
                more = f"The document has {total} lines; go on with lines={after}-{total}."
            return self._describe(text, cited, more)

        return fit_text(self.given.max_tokens, texts, "\n", describe)

    def _passages(self, chunks: Sequence[Chunk]) -> ToolOutput:
        path = self.target.document.path
        cited = [citation_of(path, chunk.section_label, chunk.source_spans) for chunk in chunks]
        texts = [chunk.text for chunk in chunks]

        def describe(text: str, kept: int) -> FetchOutput:
            left = len(chunks) - kept
            more = f"{left} more did not fit; go on with id={chunks[kept].chunk_id.hex}." if left else None
            if not kept:
                more = _too_small(texts[0]) if texts else "There is no text at this place of the document."
            return self._describe(text, cited[0] if cited else None, more, uris[:kept])

        uris = [each.uri for each in cited]
        return fit_text(self.given.max_tokens, texts, _BETWEEN, describe, uris)

    def _describe(
        self, text: str, cited: Citation | None, more: str | None, uris: Sequence[str] = ()
    ) -> FetchOutput:
        document, chunk = self.target.document, self.target.chunk
        site, chunk_id = self.call.site, None if chunk is None else chunk.chunk_id.hex
        return FetchOutput(
            id=self.given.id,
            title=on_one_line(document.title) or document.path,
            text=text,
            url=site + place_path(self.workspace, document.doc_id, cited, chunk_id)
            if site
            else document_uri(document),
            metadata=Origin(
                citation=document.path if cited is None else cited.uri,
                citations=tuple(uris) if len(uris) > 1 else None,
                workspace=self.workspace.slug,
                source=document.source.key,
                version=document.version.tag or None,
                trust_level=document.trust_level,
                more=more,
            ),
        )


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
            outdated=hit.outdated or None,
        ),
    )


def resolve_library_tool(call: Call, given: ResolveLibraryArguments) -> ToolOutput:
    """Return the libraries of a name, best first."""
    access = call.access
    found = find_libraries(access.workspace, access.reader, given.libraryName, query=given.query)
    listed = LibrariesOutput(libraries=tuple(map(_describe, found.results)))
    return ToolOutput(text=libraries_text(found.results), data=dump(listed))


def query_docs_tool(call: Call, given: QueryDocsArguments) -> ToolOutput:
    """Return the library's rules, then its best snippets, as many as fit the budget."""
    access = call.access
    try:
        library = choose_library(access.workspace, access.reader, given.libraryId)
    except NotFound as error:
        raise NotFound(
            "There is no such library or version that you may see; resolve-library-id finds ids."
        ) from error
    call.step(1, 2, "searching the library")
    context = gather_context(access.workspace, access.reader, library, given.query, tokens=given.tokens)
    snippets = (
        SnippetOutput(title=each.title, text=each.text, citation=each.citation.uri)
        for each in context.snippets
    )
    output = DocsOutput(rules=context.rules, snippets=tuple(snippets))
    return ToolOutput(text=snippets_text(context.rules, context.snippets), data=dump(output))


def _describe(found: RankedLibrary) -> LibraryOutput:
    return LibraryOutput(
        id=found.id,
        title=found.title or found.key,
        description=found.description,
        snippets=found.total_snippets,
        trust_score=found.trust_score,
        versions=tuple(version.tag for version in found.versions),
    )
