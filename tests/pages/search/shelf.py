"""Write documents for page tests as a worker would, without one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import transaction

from kebab.identity.models import Membership, Role, User, Workspace
from search.corpus import DocumentDraft, DocumentLocation, ensure_source, ensure_version, replace_document
from search.corpus.blobs import store_blob
from search.embedders.configured import configured_embedder, embedded_text
from search.mirror import local_mirrors
from search.models import Chunk, Document
from search.vectors.backfill import store_vectors
from search.vectors.spaces import ensure_live_space


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk to write."""

    text: str
    ordinal: int = 0
    kind: str = "info"
    language: str | None = None
    heading_path: tuple[str, ...] = ()
    breadcrumb: str = ""
    section_label: str = ""
    spans: list[dict[str, Any]] = field(default_factory=list)
    token_count: int = 10
    plain: str = ""


def passages_of(text, **fields):
    """Return one passage for each paragraph, with its lines."""
    found, line = [], 1
    for paragraph in text.split("\n\n"):
        end = line + paragraph.count("\n")
        span = {"kind": "line", "start": line, "end": end}
        found.append(Passage(text=paragraph, ordinal=len(found), spans=[span], **fields))
        line = end + 2
    return found


def shelve(
    workspace,
    path,
    text,
    *,
    passages=None,
    charset="utf-8",
    media="text",
    source="handbook",
    version="",
    **fields,
):
    """Store a document, make it searchable by words and vectors, and return it."""
    content = text.encode(charset)
    source = ensure_source(workspace, source, kind="upload")
    draft = DocumentDraft(
        **{
            "title": path,
            "lang": "en",
            "tags": (),
            "trust_level": "primary",
            "mime": "text/markdown",
            "media": media,
            "size_bytes": len(content),
            "content_hash": store_blob(workspace.pk, content),
            "parser_version": "test/1",
            "chunker_version": "test/1",
            "chunks": passages_of(text) if passages is None else passages,
            **fields,
        }
    )
    place = DocumentLocation(
        workspace=workspace, source=source, version=ensure_version(source, version), path=path
    )
    replace_document(place, draft)
    return Document.objects.in_workspace(workspace).get(doc_id=place.doc_id)


def index(workspace):
    """Embed all chunks and sync this node's mirror, in this thread."""
    embedder = configured_embedder()
    space = ensure_live_space(workspace, embedder.space)
    chunks = list(Chunk.objects.in_workspace(workspace))
    texts = [embedded_text(chunk.breadcrumb, chunk.text) for chunk in chunks]
    vectors = np.asarray(embedder.embed_passages(texts))
    by_hash = {chunk.embed_hash: vector for chunk, vector in zip(chunks, vectors, strict=True)}
    with transaction.atomic():
        store_vectors(space, chunks, by_hash)
    local_mirrors.wait_for_seq(workspace.pk, Workspace.objects.get(pk=workspace.pk).head_seq, limit_s=10)


def make_member(workspace, email, role=Role.VIEWER):
    """Return a new member without a usable password, as hashing one takes half a second."""
    user = User.objects.create_user(email)
    Membership.objects.create(workspace=workspace, user=user, role=role)
    return user
