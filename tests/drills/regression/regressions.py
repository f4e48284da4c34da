"""Regressions that tests plant for the guards to detect; each ends with pytest's `monkeypatch`."""

from typing import Any

import numpy as np
from django.conf import settings

from kebab.tenancy.postgres import base
from search.api import search as search_api
from search.corpus import chunk_rows
from search.embedders.cache import CachedQueryEmbedder
from search.engine import hits
from search.engine.hits import HitBuilder
from search.mirror.query import view
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.models import Source
from search.retrieval.fusion import ranking
from search.vectors import leg


def swap_weights(monkeypatch: Any) -> None:
    """Let a word in the text weigh more than one in the heading."""
    begin = LexicalLeg.__init__

    def begin_swapped(self: LexicalLeg, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        self._weights = (self._weights[1], self._weights[0])

    monkeypatch.setattr(LexicalLeg, "__init__", begin_swapped)


def omit_vectors(monkeypatch: Any) -> None:
    """Omit the vectors' results from the fusion."""
    choose_lists = ranking._participating_lists

    def without_vectors(*args: Any) -> Any:
        return {name: found for name, found in choose_lists(*args).items() if name != "vector"}

    monkeypatch.setattr(ranking, "_participating_lists", without_vectors)


def truncate_vectors(monkeypatch: Any) -> None:
    """Compare queries by a quarter of their vector's components."""
    embed_query = CachedQueryEmbedder.embed_query

    def embed_truncated(self: CachedQueryEmbedder, text: str) -> np.ndarray:
        vector = embed_query(self, text)
        return np.where(np.arange(len(vector)) % 4 == 0, vector, np.float32(0))

    monkeypatch.setattr(CachedQueryEmbedder, "embed_query", embed_truncated)


def disable_names(monkeypatch: Any) -> None:
    """Disable the search for exact names."""
    monkeypatch.setattr(ExactLeg, "has_names", False)


def ignore_language(monkeypatch: Any) -> None:
    """Use vectors also for languages that the model doesn't know."""
    monkeypatch.setattr(leg, "knows_language", lambda *args: True)


def query_source_of_each_hit(monkeypatch: Any) -> None:
    """Look up the source of each hit."""
    cite = hits.citation_of

    def cite_with_query(*args: Any) -> Any:
        Source.objects.filter(key="docs").exists()
        return cite(*args)

    monkeypatch.setattr(hits, "citation_of", cite_with_query)


def bypass_chunk_index(monkeypatch: Any) -> None:
    """Write a condition on a chunk's id so that no index can serve it."""
    prepend_setting = base._prepend_setting
    column = '"search_chunk"."chunk_id"'

    def without_index(query: Any) -> Any:
        if isinstance(query, str):
            query = query.replace(f"{column} = ANY", f"({column}::text)::uuid = ANY")
        return prepend_setting(query)

    monkeypatch.setattr(base, "_prepend_setting", without_index)


def scan_mirror(monkeypatch: Any) -> None:
    """Write the condition on a chunk's id in the mirror so that no index can serve it."""
    sql = view._ROWS.replace("c.chunk_id = v.value", "c.chunk_id || '' = v.value")
    assert sql != view._ROWS
    monkeypatch.setattr(view, "_ROWS", sql)


def copy_hits_repeatedly(monkeypatch: Any) -> None:
    """Copy the hits ten thousand times, and drop each copy at once."""
    build = HitBuilder.build

    def build_with_copies(self: HitBuilder, read_entries: Any, k: int) -> Any:
        page = build(self, read_entries, k)
        for _ in range(10_000):
            list(page.hits)
        return page

    monkeypatch.setattr(HitBuilder, "build", build_with_copies)


def query_redis_for_each_hit(monkeypatch: Any) -> None:
    """Send a Redis command for each hit."""
    import redis

    from kebab.stack.servers.addresses import redis_client_url

    write = search_api.result_to_wire

    def write_with_lookups(result: Any, *fields: Any) -> Any:
        with redis.Redis.from_url(redis_client_url(settings.REDIS_URL)) as client:
            for hit in result.hits:
                client.exists(hit.chunk_id)
        return write(result, *fields)

    monkeypatch.setattr(search_api, "result_to_wire", write_with_lookups)


def insert_chunks_singly(monkeypatch: Any) -> None:
    """Insert each chunk by a statement of its own."""
    insert = chunk_rows.insert_rows

    def insert_singly(rows: Any, **kwargs: Any) -> None:
        for row in rows:
            insert([row], **kwargs)

    monkeypatch.setattr(chunk_rows, "insert_rows", insert_singly)
