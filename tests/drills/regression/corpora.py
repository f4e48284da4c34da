"""Generated workspaces, one with ten times the chunks of the other, alike in everything else."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

from django.db import connection, transaction
from django.test import override_settings

from kebab.identity.models import Group, Workspace
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from kebab.tenancy.roles import owner_connection
from search.corpus import replace_documents
from search.embedders.configured import configured_embedder, embedded_text
from search.engine.search import search
from search.mirror import local_mirrors
from search.models import EmbeddingSpace, Source
from search.retrieval.types import Mode, SearchQuery
from search.vectors.backfill import batches_without_vector, store_vectors
from search.vectors.index import ensure_index
from search.vectors.quantised_index import prepare_codes
from search.vectors.spaces import ensure_live_space
from tests.support.actors import make_workspace
from tests.support.api import forget_acts
from tests.support.corpus import chunk, draft, make_place, restrict

DOCUMENTS = {"small": 60, "large": 600}
CHUNKS_A_DOCUMENT = 5
#: The group that may read the one restricted source.
KEEPERS = "keepers"
_WORDS = ["".join(syllables) for syllables in product(("ka", "lo", "mi", "ru", "te", "so"), repeat=4)]
_WORDS_A_CHUNK = 40
_SOURCES = ("docs", "vault", "notes")
_TABLES = "ARRAY['search_document', 'search_chunk', 'search_chunkvector']::regclass[]"
#: Two words of every other chunk, and one of a tenth of them.
QUERY = "harbour lantern compass"
NAME = "getHarbour"


def _text(chance: random.Random, number: int) -> str:
    # As in real text, few words are frequent and most are rare.
    words = [_WORDS[min(int(chance.paretovariate(0.6)), len(_WORDS)) - 1] for _ in range(_WORDS_A_CHUNK)]
    for word, every in (("harbour", 2), ("lantern", 2), ("compass", 10), (f"{NAME}()", 9)):
        if number % every == 0:
            words.insert(chance.randrange(len(words)), word)
    return " ".join(words)


def _draft(chance: random.Random, number: int) -> Any:
    first = number * CHUNKS_A_DOCUMENT
    headings = [f"{_WORDS[chance.randrange(200)]} {number}" for _ in range(CHUNKS_A_DOCUMENT)]
    chunks = [
        chunk(_text(chance, first + ordinal), ordinal, heading=heading)
        for ordinal, heading in enumerate(headings)
    ]
    return draft(
        *chunks, title=f"Log {headings[0]}", lang=("en", "de")[number % 2], tags=(f"t{number % 3}", "log")
    )


def _write(workspace: Workspace, documents: int) -> None:
    chance = random.Random(documents)
    places = [
        make_place(workspace, f"logs/{number:04}.md", source=_SOURCES[number % len(_SOURCES)])
        for number in range(documents)
    ]
    writes = [(place, _draft(chance, number)) for number, place in enumerate(places)]
    for some in range(0, len(writes), 100):
        replace_documents(writes[some : some + 100])
    restrict(
        Source.objects.in_workspace(workspace).get(key="vault"),
        Group.objects.create(workspace=workspace, name=KEEPERS),
    )


def _embed(workspace: Workspace) -> EmbeddingSpace:
    embedder = configured_embedder()
    space = ensure_live_space(workspace, embedder.space)
    for chunks in batches_without_vector(space, size=1_000):
        vectors = embedder.embed_passages([embedded_text(each.breadcrumb, each.text) for each in chunks])
        with transaction.atomic():
            store_vectors(
                space, chunks, dict(zip([each.embed_hash for each in chunks], vectors, strict=True))
            )
    return space


def _prepare_scan(workspace: Workspace) -> None:
    """Prepare the quantised codes of vectors, and run the first scan."""
    with override_settings(KEBAB_CODES_FROM=1):
        prepare_codes(EmbeddingSpace.objects.get(workspace=workspace))
    assert search(workspace, SearchQuery(text=QUERY, mode=Mode.VECTOR)).hits


def analyse() -> None:
    """Update PostgreSQL's statistics of the search tables, including this transaction's rows."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT kebab_analyze({_TABLES})")


def _count_all() -> None:
    """Update PostgreSQL's statistics of all tables, so that plans equal the plans of a system in use.

    Outdated statistics of the small tables, like sources, would otherwise change the order of joins.
    """
    with owner_connection() as owner:
        owner.execute("ANALYZE")


def _clear() -> None:
    """Vacuum rows deleted by other tests, which would distort PostgreSQL's samples."""
    with owner_connection() as owner:
        owner.execute("VACUUM")


@contextmanager
def created_workspaces(*sizes: str) -> Iterator[dict[str, Workspace]]:
    """Yield committed workspaces by size, mirrored and embedded, with codes, and with unused HNSW indexes."""
    _clear()
    created = {size: make_workspace() for size in sizes}
    for size, workspace in created.items():
        _write(workspace, DOCUMENTS[size])
        with override_settings(KEBAB_EXACT_SCAN_LIMIT=1):
            assert ensure_index(_embed(workspace))
        workspace.refresh_from_db()
        local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=60)
    EmbeddingSpace.objects.update(is_indexed=False)
    for workspace in created.values():
        _prepare_scan(workspace)
    _count_all()
    try:
        yield created
    finally:
        for workspace in created.values():
            delete_workspace(command_line_access(workspace))
        forget_acts()
