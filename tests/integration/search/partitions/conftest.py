"""Fixtures of partitioned tables, which are merged again after each test."""

import pytest

from search.vectors.index import drop_index, ensure_index
from tests.support.corpus import make_workspace, write
from tests.support.partitions import partition_count, partition_tables
from tests.support.search import embed, sync


@pytest.fixture
def whole_again(transactional_db):
    """Restore the former number of partitions after the test."""
    former = partition_count()
    yield
    partition_tables(former)


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
