"""A workspace cut another way, tried before it is: in scratch workspaces that hold the documents that matter.

What matters is what the golden queries judge, and others to compete with it: in the order of their ids,
which are hashes, so that it is the same sample every time. One copy is cut as the workspace is, one as
proposed; both have the embedder of the live vectors, and are deleted however the trial ends.
"""

import secrets
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ingest.connectors.types import ItemContent
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.items.drafts import document_draft, parser_overrides
from ingest.jobs.items.parser_pool import digester_pool
from ingest.sandbox.types import Digest, Submission
from kebab.people.access.caller import Caller, operator_access
from kebab.people.deletion import delete_workspace
from kebab.people.models import Workspace
from kebab.people.workspaces import create_workspace
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.corpus import DocumentDraft, Place, ensure_source, ensure_version, replace_document
from search.corpus.blobs import has_blob, read_blob
from search.embedders.base import Embedder
from search.embedders.configured import embedded_text, maker_of
from search.evaluation.gate import ACTOR, Advance, Verdict, golden_topics, judge, settings_state
from search.evaluation.judged import JudgedTopic
from search.mirror import local_mirrors
from search.models import Chunk, Document, EmbeddingSpace, SourceKind, SpaceState
from search.vectors.backfill import chunks_without_vector, known_vectors, store_vectors
from search.vectors.spaces import ensure_live_space, note_languages

#: Documents of a copy, those that are judged among them.
MAX_DOCUMENTS: Final = 1_000
#: Bytes of a document that is no more than competition.
_MAX_SAMPLED_BYTES = 1_000_000
_BATCH = 64
_SEARCHABLE_LIMIT_S = 600.0
#: A copy that is older was left by a process that was killed.
_LEFT_OVER = timedelta(days=1)
_SLUG = "gate-copy-"


def trial_verdict(workspace: Workspace, proposed: Workspace, *, advance: Advance = lambda: None) -> Verdict:
    """Compare the workspace with the same cut, and searched, under the settings of `proposed`.

    `advance` is called after each document and each query. Raises SearchError, SandboxUnavailable.
    """
    topics = golden_topics(workspace)
    if not topics:
        return Verdict()
    documents = documents_that_matter(workspace, topics)
    with (
        _copy(workspace, workspace, documents, advance) as before,
        _copy(workspace, proposed, documents, advance) as after,
    ):
        return judge(
            workspace,
            topics,
            settings_state(before, f"gate, {chunk_tokens_of(workspace)} tokens a chunk"),
            settings_state(after, f"gate, {chunk_tokens_of(proposed)} tokens a chunk"),
            advance=advance,
        )


def documents_that_matter(workspace: Workspace, topics: Sequence[JudgedTopic]) -> list[Document]:
    """Return the judged documents whose bytes are kept, and others up to MAX_DOCUMENTS in all."""
    documents = Document.objects.in_workspace(workspace).select_related("source", "version")
    paths = {qrel.path for topic in topics for qrel in topic.qrels}
    judged = list(documents.filter(path__in=paths).order_by("doc_id")[:MAX_DOCUMENTS])
    others = documents.exclude(Q(path__in=paths) | Q(size_bytes__gt=_MAX_SAMPLED_BYTES))
    sampled = list(others.order_by("doc_id")[: MAX_DOCUMENTS - len(judged)])
    return [each for each in (*judged, *sampled) if has_blob(workspace.pk, each.content_hash)]


@contextmanager
def _copy(
    workspace: Workspace, settings_of: Workspace, documents: Sequence[Document], advance: Advance
) -> Iterator[Workspace]:
    """Return a workspace with those of the documents, cut and embedded; it is deleted after."""
    with acting_everywhere():
        _remove_left_overs()
        slug = f"{_SLUG}{secrets.token_hex(8)}"
        copy = create_workspace(Caller(operator=ACTOR), slug, settings=dict(settings_of.settings))
    try:
        with acting_in(copy.pk):
            _write(workspace, copy, documents, advance)
        _embed(workspace, copy, advance)
        with acting_in(copy.pk):
            copy.refresh_from_db()
            local_mirrors.wait_for_seq(copy.pk, copy.head_seq, limit_s=_SEARCHABLE_LIMIT_S)
        yield copy
    finally:
        _delete(copy)


def _delete(copy: Workspace) -> None:
    with acting_everywhere():
        delete_workspace(operator_access(copy, ACTOR))


def _remove_left_overs() -> None:
    before = timezone.now() - _LEFT_OVER
    for copy in Workspace.objects.filter(slug__startswith=_SLUG, created_at__lt=before):
        _delete(copy)


def _write(workspace: Workspace, copy: Workspace, documents: Sequence[Document], advance: Advance) -> None:
    """Write the documents into the copy, under their sources' keys, versions and paths."""
    for group in digester_pool().digest_groups(_submissions(workspace, copy, documents)):
        with transaction.atomic():
            for (document, found), outcome in group:
                if isinstance(outcome, Digest):  # what is refused now is so under any setting
                    replace_document(_place(copy, document), _draft(document, found, outcome))
                advance()


def _submissions(
    workspace: Workspace, copy: Workspace, documents: Sequence[Document]
) -> Iterator[Submission]:
    for document in documents:
        found = ItemContent(
            content=read_blob(workspace.pk, document.content_hash), stated=dict(document.overrides)
        )
        yield Submission(
            key=(document, found),
            content=found.content,
            path=document.path,
            overrides=parser_overrides(found.stated),
            chunk_tokens=chunk_tokens_of(copy),
        )


def _draft(document: Document, found: ItemContent, digest: Digest) -> DocumentDraft:
    draft = document_draft(digest, found, content_hash=document.content_hash, source=document.source)
    return replace(draft, tags=tuple(document.tags), trust_level=document.trust_level)


def _place(copy: Workspace, document: Document) -> Place:
    source = ensure_source(copy, document.source.key, kind=SourceKind.UPLOAD)
    version = ensure_version(source, document.version.tag)
    return Place(workspace=copy, source=source, version=version, path=document.path)


def _embed(workspace: Workspace, copy: Workspace, advance: Advance) -> None:
    """Return the copy's chunks vectors of the live embedder; of text that is the same those that
    there are.
    """
    live = EmbeddingSpace.objects.in_workspace(workspace).filter(state=SpaceState.LIVE).first()
    made = None if live is None else maker_of(live)
    if live is None or made is None:
        return
    with acting_in(copy.pk):
        space = ensure_live_space(copy, made[1].space)
        note_languages(space, made[1].space)
    after = uuid.UUID(int=0)
    while True:
        with acting_in(copy.pk):
            chunks = chunks_without_vector(space, after=after, limit=_BATCH)
        if not chunks:
            return
        after = chunks[-1].chunk_id
        with acting_in(workspace.pk):
            known = known_vectors(live, [chunk.embed_hash for chunk in chunks])
        vectors = {**known, **_embedded(made[1], [each for each in chunks if each.embed_hash not in known])}
        with acting_in(copy.pk), transaction.atomic():
            store_vectors(space, chunks, vectors)
        advance()


def _embedded(embedder: Embedder, chunks: Sequence[Chunk]) -> dict[uuid.UUID, object]:
    texts = {chunk.embed_hash: embedded_text(chunk.breadcrumb, chunk.text) for chunk in chunks}
    return dict(zip(texts, embedder.embed_passages(list(texts.values())), strict=True)) if texts else {}
