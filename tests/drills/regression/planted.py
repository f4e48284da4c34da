"""Regressions that tests plant for guards to find; each ends with pytest's `monkeypatch`."""

from typing import Any

import numpy as np
from django.conf import settings

from kebab.tenancy.postgres import base
from search.api import search as search_api
from search.corpus import chunk_rows
from search.embedders.cache import CachedQueryEmbedder
from search.engine import hits
from search.engine.search import HitBuilder
from search.mirror.query import lexical
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.models import Source
from search.retrieval.fusion import pipeline
from search.vectors import leg


def weights_swapped(monkeypatch: Any) -> None:
    """A word in the text counts for more than one in the heading."""
    begin = LexicalLeg.__init__

    def swapped(self: LexicalLeg, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        self._weights = (self._weights[1], self._weights[0])

    monkeypatch.setattr(LexicalLeg, "__init__", swapped)


def vectors_not_fused(monkeypatch: Any) -> None:
    """The fusion leaves out what the vectors found."""
    fuse = pipeline._fuse

    def without_vectors(legs: Any, lists: Any, scores: Any, *given: Any) -> Any:
        kept = {name: candidates for name, candidates in lists.items() if name != "vector"}
        return fuse(legs, kept, {}, *given)

    monkeypatch.setattr(pipeline, "_fuse", without_vectors)


def a_quarter_of_each_vector(monkeypatch: Any) -> None:
    """Queries are compared by a quarter of their vector's components."""
    embed_query = CachedQueryEmbedder.embed_query

    def quartered(self: CachedQueryEmbedder, text: str) -> np.ndarray:
        vector = embed_query(self, text)
        return np.where(np.arange(len(vector)) % 4 == 0, vector, np.float32(0))

    monkeypatch.setattr(CachedQueryEmbedder, "embed_query", quartered)


def no_names(monkeypatch: Any) -> None:
    """Names are not looked for to the letter."""
    monkeypatch.setattr(ExactLeg, "has_names", False)


def every_language_known(monkeypatch: Any) -> None:
    """Vectors take part in languages that the model doesn't know."""
    monkeypatch.setattr(leg, "knows_language", lambda *given: True)


def a_statement_for_each_hit(monkeypatch: Any) -> None:
    """Something about its source is looked up for each hit."""
    cite = hits.citation_of

    def looked_up(*given: Any) -> Any:
        Source.objects.filter(key="docs").exists()
        return cite(*given)

    monkeypatch.setattr(hits, "citation_of", looked_up)


def no_index_for_chunks(monkeypatch: Any) -> None:
    """A condition on a chunk's id is written so that no index serves it."""
    sent = base._prepend_setting
    column = '"search_chunk"."chunk_id"'

    def unserved(query: Any) -> Any:
        if isinstance(query, str):
            query = query.replace(f"{column} = ANY", f"({column}::text)::uuid = ANY")
        return sent(query)

    monkeypatch.setattr(base, "_prepend_setting", unserved)


def a_scanned_mirror(monkeypatch: Any) -> None:
    """A condition on a row of the mirror is written so that no index serves it."""
    sql = lexical._CHUNK_IDS.replace("c.chunk = v.value", "c.chunk + 0 = v.value")
    assert sql != lexical._CHUNK_IDS
    monkeypatch.setattr(lexical, "_CHUNK_IDS", sql)


def a_list_copied_over_and_over(monkeypatch: Any) -> None:
    """The hits are copied ten thousand times, and each copy is gone at once."""
    build = HitBuilder.build

    def copied(self: HitBuilder, entries: Any) -> Any:
        made = build(self, entries)
        for _ in range(10_000):
            list(made)
        return made

    monkeypatch.setattr(HitBuilder, "build", copied)


def redis_asked_for_each_hit(monkeypatch: Any) -> None:
    """Something is looked up in Redis for each hit."""
    import redis

    from kebab.stack.servers.addresses import redis_client_url

    write = search_api.result_to_wire

    def asking(result: Any) -> Any:
        with redis.Redis.from_url(redis_client_url(settings.REDIS_URL)) as client:
            for hit in result.hits:
                client.exists(hit.chunk_id)
        return write(result)

    monkeypatch.setattr(search_api, "result_to_wire", asking)


def chunks_written_one_by_one(monkeypatch: Any) -> None:
    """Each chunk is a statement of its own."""
    insert = chunk_rows.insert_rows

    def one_by_one(rows: Any, **named: Any) -> None:
        for row in rows:
            insert([row], **named)

    monkeypatch.setattr(chunk_rows, "insert_rows", one_by_one)
