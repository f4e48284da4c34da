"""Indexing and searching in tests of search."""

from threading import Barrier
from typing import Any

from django.db import transaction

from kebab.identity.models import Workspace
from search.embedders.configured import configured_embedder, embedded_text
from search.engine.search import search
from search.mirror import local_mirrors
from search.mirror.sync.sync import sync_mirror
from search.models import EmbeddingSpace
from search.retrieval.fusion.legs import LegResult, unpack_ids
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode, SearchQuery, SearchResult
from search.vectors.backfill import batches_without_vector, store_vectors
from search.vectors.spaces import ensure_live_space


def sync(workspace: Workspace) -> None:
    """Bring this node's mirror up to date."""
    sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)


def finish_syncs() -> None:
    """Wait until all syncs that searches triggered are done."""
    all_idle = Barrier(local_mirrors._SYNCS_AT_ONCE, timeout=30)
    waiting = [local_mirrors._sync_executor().submit(all_idle.wait) for _ in range(all_idle.parties)]
    for each in waiting:
        each.result(30)


def embed(workspace: Workspace, *, limit: int = 10_000) -> EmbeddingSpace:
    """Embed up to `limit` chunks."""
    embedder = configured_embedder()
    assert embedder is not None
    space = ensure_live_space(workspace, embedder.space)
    chunks = next(batches_without_vector(space, size=limit), [])
    vectors = embedder.embed_passages([embedded_text(each.breadcrumb, each.text) for each in chunks])
    with transaction.atomic():
        store_vectors(
            space, chunks, {each.embed_hash: vector for each, vector in zip(chunks, vectors, strict=True)}
        )
    return EmbeddingSpace.objects.get(pk=space.pk)


def ask(workspace: Workspace, text: str, mode: Mode = Mode.LEXICAL, **options: Any) -> SearchResult:
    """Search; options that are filters go into the filters."""
    min_seq = options.pop("min_seq", None)
    names = SearchFilters.__dataclass_fields__.keys() & options.keys()
    filters = SearchFilters(**{name: options.pop(name) for name in names})
    return search(workspace, SearchQuery(text=text, mode=mode, filters=filters, **options), min_seq=min_seq)


def paths(result: SearchResult) -> list[str]:
    """Return the documents of the hits, in order."""
    return [hit.doc_path for hit in result.hits]


def scores_by_id(found: LegResult) -> dict[str, float]:
    """Return the scores of a leg's candidates by their ids, best first."""
    return dict(zip(unpack_ids(found.ids), found.scores.tolist(), strict=True))
