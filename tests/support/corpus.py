"""Factories of workspaces, places, drafts and documents."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from ingest.chunking.types import ChunkDraft
from kebab.identity.models import Group, Workspace
from search.corpus import (
    DocumentDraft,
    DocumentLocation,
    WriteResult,
    ensure_source,
    ensure_version,
    replace_document,
)
from search.corpus.content_ids import content_hash
from search.markup.plain_text import stored_plain_text
from search.models import Source, SourceReader

_numbers = count(1)


def make_workspace(**fields: Any) -> Workspace:
    """Return a new workspace."""
    slug = f"corpus-{next(_numbers)}"
    return Workspace.objects.create(**{"slug": slug, "name": slug, **fields})


def make_place(
    workspace: Workspace, path: str = "guide.md", *, source: str = "docs", version: str = ""
) -> DocumentLocation:
    """Return a place for a document in an upload source."""
    found = ensure_source(workspace, source, kind="upload")
    return DocumentLocation(
        workspace=workspace, source=found, version=ensure_version(found, version), path=path
    )


def chunk(text: str, ordinal: int = 0, *, heading: str = "Guide", **fields: Any) -> ChunkDraft:
    """Return a draft of a chunk under a heading."""
    values: dict[str, Any] = {
        "ordinal": ordinal,
        "kind": "info",
        "language": None,
        "heading_path": (heading,),
        "breadcrumb": heading,
        "section_label": heading,
        "text": text,
        "plain": stored_plain_text(text, "guide.md", is_code=bool(fields.get("language"))),
        "spans": ({"kind": "line", "start": ordinal * 10 + 1, "end": ordinal * 10 + 9},),
        "token_count": len(text.split()),
        **fields,
    }
    return ChunkDraft(**values)


def draft(*chunks: ChunkDraft | str, **fields: Any) -> DocumentDraft:
    """Return a draft of a document; texts become chunks in order, and the hash follows from all of it."""
    drafts = [chunk(each, ordinal) if isinstance(each, str) else each for ordinal, each in enumerate(chunks)]
    values: dict[str, Any] = {
        "title": "Guide",
        "lang": "en",
        "tags": (),
        "trust_level": "unknown",
        "mime": "text/markdown",
        "media": "text",
        "size_bytes": sum(len(each.text) for each in drafts),
        "content_hash": content_hash(repr(drafts).encode()),
        "parser_version": "p1",
        "chunker_version": "c1",
        "chunks": drafts,
        **fields,
    }
    return DocumentDraft(**values)


def write(
    workspace: Workspace,
    path: str,
    *texts: ChunkDraft | str,
    source: str = "docs",
    version: str = "",
    **fields: Any,
) -> WriteResult:
    """Write a document of these texts into the workspace."""
    return replace_document(
        make_place(workspace, path, source=source, version=version), draft(*texts, **fields)
    )


def restrict(source: Source, *groups: Group) -> None:
    """Restrict the source to these groups."""
    Source.objects.filter(pk=source.pk).update(is_restricted=True)
    for group in groups:
        SourceReader.objects.create(workspace_id=source.workspace_id, source=source, group=group)


def write_each(workspace: Workspace, texts: Sequence[str], **fields: Any) -> list[WriteResult]:
    """Write one document for each text, at 000.md, 001.md, …"""
    return [write(workspace, f"{number:03}.md", text, **fields) for number, text in enumerate(texts)]
