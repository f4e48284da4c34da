"""Fixtures of partitioned tables, which are merged again after each test."""

import pytest

from search.corpus.partitions import partition_tables, table_sizes
from search.vectors.index import drop_index, ensure_index
from tests.support.corpus import make_workspace, write
from tests.support.search import embed, sync

MEMORY_BYTES = 64 * 2**20


def cut(parts: int) -> bool:
    """Split the tables into `parts` partitions."""
    return partition_tables(parts, memory_bytes=MEMORY_BYTES, progress=lambda words, more: None)


@pytest.fixture
def whole_again(transactional_db):
    """Restore the former number of partitions after the test."""
    former = table_sizes()[0].parts
    yield
    cut(former)


@pytest.fixture
def filled_workspaces(whole_again, mirrors, settings):
    """Yield three workspaces with documents, vectors and mirrors; the first has an HNSW index."""
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    workspaces = [make_workspace() for _ in range(3)]
    for place, workspace in enumerate(workspaces):
        for number in range(4):
            texts = [
                f"apple number{n} of {number} in {workspace.slug}" for n in range(50 if place == 0 else 5)
            ]
            write(workspace, f"{number}.md", *texts)
        embed(workspace)
        sync(workspace)
    space = embed(workspaces[0])
    assert ensure_index(space)
    yield workspaces
    drop_index(space)
