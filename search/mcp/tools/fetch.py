"""`fetch`: the text of a document, or the text around a hit."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kebab.errors import NotFound
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.documents.addresses import place_path
from search.mcp.call_context import Call
from search.mcp.tools.arguments import FetchArguments
from search.mcp.tools.documents import (
    LineRange,
    ResolvedDocument,
    document_uri,
    has_lines,
    lines_of,
    passages_at,
    passages_of,
    resolve_id,
)
from search.mcp.tools.outputs import FetchOutput, Origin, ToolOutput
from search.mcp.tools.token_budget import count_tokens, fit_text, on_one_line
from search.models import Chunk
from search.retrieval.citation import Citation, citation_of

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
        found = lines_of(document, wanted)
        texts, total = found.texts, found.total

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
