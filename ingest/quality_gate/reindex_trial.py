"""Trial of other indexing settings in scratch workspaces, which hold a sample of the documents.

The sample has the documents that the golden queries judge, and others that compete with them: in the order
of their ids, which are hashes, so that it is the same sample every time. One copy has the stored chunks; the
other has the proposed settings, and new chunks where these differ. Both use the embedder of the live vectors,
and are deleted however the trial ends.
"""

import secrets
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ingest.connectors.types import ItemContent
from ingest.digest.pool import Outcome
from ingest.digest.types import Digest, Submission
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.items.drafts import document_draft, parser_overrides
from ingest.jobs.items.parser_pool import digester_pool
from ingest.jobs.items.reuse import stored_digest
from kebab.people.access.caller import Caller, operator_access
from kebab.people.deletion import delete_workspace
from kebab.people.models import Workspace
from kebab.people.workspaces import create_workspace
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.corpus import DocumentDraft, DocumentLocation, ensure_source, ensure_version, replace_document
from search.corpus.blobs import has_blob, read_blob
from search.embedders.base import Embedder
from search.embedders.configured import embedded_text, find_maker
from search.evaluation.gate import ACTOR, Advance, GateVerdict, golden_topics, judge, settings_variant
from search.evaluation.judged import JudgedTopic
from search.mirror import local_mirrors
from search.models import Chunk, Document, EmbeddingSpace, SourceKind, SpaceState
from search.vectors.backfill import batches_without_vector, find_vectors_by_hash, store_vectors
from search.vectors.spaces import ensure_live_space, update_known_share

#: Most documents of a copy, the judged ones included.
MAX_DOCUMENTS: Final = 1_000
#: Most bytes of a document that is not judged.
_MAX_SAMPLED_BYTES = 1_000_000
_BATCH = 64
_SEARCHABLE_LIMIT_S = 600.0
#: An older copy was left by a killed process.
_STALE_AFTER = timedelta(days=1)
#: The start of a copy's slug.
COPY_PREFIX: Final = "gate-copy-"


def trial_verdict(
    workspace: Workspace, proposed: Workspace, *, rechunks: bool, advance: Advance = lambda: None
) -> GateVerdict:
    """Compare search in the workspace as it is stored and under the settings of `proposed`.

    With `rechunks` documents are chunked again for `proposed`, by the present chunker. `advance` is called
    after each document and each query. Raises SearchError, SandboxUnavailable.
    """
    topics = golden_topics(workspace)
    if not topics:
        return GateVerdict()
    documents = sample_documents(workspace, topics)
    with (
        _trial_copy(workspace, workspace, documents, advance, rechunks=False) as before,
        _trial_copy(workspace, proposed, documents, advance, rechunks=rechunks) as after,
    ):
        return judge(
            workspace,
            topics,
            settings_variant(before, "gate, stored chunks"),
            settings_variant(after, f"gate, {chunk_tokens_of(proposed)} tokens a chunk"),
            advance=advance,
        )


def sample_documents(workspace: Workspace, topics: Sequence[JudgedTopic]) -> list[Document]:
    """Return the judged documents whose bytes are stored, and others up to MAX_DOCUMENTS in all."""
    documents = Document.objects.in_workspace(workspace).select_related("source", "version")
    paths = {qrel.path for topic in topics for qrel in topic.qrels}
    judged = list(documents.filter(path__in=paths).order_by("doc_id")[:MAX_DOCUMENTS])
    others = documents.exclude(Q(path__in=paths) | Q(size_bytes__gt=_MAX_SAMPLED_BYTES))
    sampled = list(others.order_by("doc_id")[: MAX_DOCUMENTS - len(judged)])
    return [each for each in (*judged, *sampled) if has_blob(workspace.pk, each.content_hash)]


@contextmanager
def _trial_copy(
    workspace: Workspace,
    settings_of: Workspace,
    documents: Sequence[Document],
    advance: Advance,
    *,
    rechunks: bool,
) -> Iterator[Workspace]:
    """Yield a scratch workspace with the documents chunked and embedded; delete it afterwards."""
    with acting_everywhere():
        _delete_stale_copies()
        slug = f"{COPY_PREFIX}{secrets.token_hex(8)}"
        copy = create_workspace(Caller(operator=ACTOR), slug, settings=dict(settings_of.settings))
    try:
        with acting_in(copy.pk):
            _write_documents(workspace, copy, documents, advance, rechunks=rechunks)
        _embed_copy(workspace, copy, advance)
        with acting_in(copy.pk):
            copy.refresh_from_db()
            local_mirrors.wait_for_seq(copy.pk, copy.head_seq, limit_s=_SEARCHABLE_LIMIT_S)
        yield copy
    finally:
        _delete_copy(copy)


def _delete_copy(copy: Workspace) -> None:
    with acting_everywhere():
        delete_workspace(operator_access(copy, ACTOR))


def _delete_stale_copies() -> None:
    before = timezone.now() - _STALE_AFTER
    for copy in Workspace.objects.filter(slug__startswith=COPY_PREFIX, created_at__lt=before):
        _delete_copy(copy)


def _write_documents(
    workspace: Workspace, copy: Workspace, documents: Sequence[Document], advance: Advance, *, rechunks: bool
) -> None:
    """Write the documents into the copy, under their sources' keys, versions and paths."""
    for group in _digests(workspace, copy, documents, rechunks=rechunks):
        with transaction.atomic():
            for (document, item), outcome in group:
                if isinstance(outcome, Digest):  # a document refused now is refused under any setting
                    replace_document(_place_in_copy(copy, document), _draft(document, item, outcome))
                advance()


def _digests(
    workspace: Workspace, copy: Workspace, documents: Sequence[Document], *, rechunks: bool
) -> Iterator[list[tuple[Any, Outcome]]]:
    """Yield documents and their stored chunks; with `rechunks`, and where there are none, parse them."""
    to_parse = []
    for document in documents:
        with acting_in(workspace.pk):
            digest = None if rechunks else stored_digest(document)
        if digest is None:
            to_parse.append(document)
        else:
            yield [((document, _read_item(workspace, document)), digest)]
    yield from digester_pool().digest_groups(_submissions(workspace, copy, to_parse))


def _submissions(
    workspace: Workspace, copy: Workspace, documents: Sequence[Document]
) -> Iterator[Submission]:
    for document in documents:
        item = _read_item(workspace, document)
        yield Submission(
            key=(document, item),
            content=item.content,
            path=document.path,
            overrides=parser_overrides(item.stated),
            chunk_tokens=chunk_tokens_of(copy),
        )


def _read_item(workspace: Workspace, document: Document) -> ItemContent:
    content = read_blob(workspace.pk, document.content_hash)
    return ItemContent(content=content, stated=dict(document.overrides))


def _draft(document: Document, item: ItemContent, digest: Digest) -> DocumentDraft:
    draft = document_draft(digest, item, content_hash=document.content_hash, source=document.source)
    return replace(draft, tags=tuple(document.tags), trust_level=document.trust_level)


def _place_in_copy(copy: Workspace, document: Document) -> DocumentLocation:
    source = ensure_source(copy, document.source.key, kind=SourceKind.UPLOAD)
    version = ensure_version(source, document.version.tag)
    return DocumentLocation(workspace=copy, source=source, version=version, path=document.path)


def _embed_copy(workspace: Workspace, copy: Workspace, advance: Advance) -> None:
    """Store vectors of the live embedder for the copy's chunks; equal texts reuse the existing vectors."""
    live = EmbeddingSpace.objects.in_workspace(workspace).filter(state=SpaceState.LIVE).first()
    maker = None if live is None else find_maker(live)
    if live is None or maker is None:
        return
    with acting_in(copy.pk):
        space = ensure_live_space(copy, maker[1].space)
        update_known_share(space, maker[1].space)
    batches = batches_without_vector(space, size=_BATCH)
    while True:
        with acting_in(copy.pk):
            chunks = next(batches, None)
        if chunks is None:
            return
        with acting_in(workspace.pk):
            known = find_vectors_by_hash(live, [chunk.embed_hash for chunk in chunks])
        vectors = {
            **known,
            **_embed_texts(maker[1], [each for each in chunks if each.embed_hash not in known]),
        }
        with acting_in(copy.pk), transaction.atomic():
            store_vectors(space, chunks, vectors)
        advance()


def _embed_texts(embedder: Embedder, chunks: Sequence[Chunk]) -> dict[uuid.UUID, object]:
    texts = {chunk.embed_hash: embedded_text(chunk.breadcrumb, chunk.text) for chunk in chunks}
    return dict(zip(texts, embedder.embed_passages(list(texts.values())), strict=True)) if texts else {}
