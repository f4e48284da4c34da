"""A workspace of three documents, and callers with and without groups."""

import pytest

from tests.integration.search.engine.conftest import workspace  # noqa: F401 - a fixture
from tests.integration.search.evaluation.callers import operator_of
from tests.support.corpus import write
from tests.support.search import embed, sync

TEXTS = {
    "apples.md": ("apple harvest in autumn", "apple pie with cinnamon"),
    "pears.md": ("pear harvest in late summer",),
    "plums.md": ("plum jam needs sugar and patience",),
}


@pytest.fixture
def orchard(workspace):  # noqa: F811 - the fixture
    """Return the workspace with its documents in source `docs`, indexed and embedded."""
    for path, texts in TEXTS.items():
        write(workspace, path, *texts)
    sync(workspace)
    embed(workspace)
    return workspace


@pytest.fixture
def access(orchard):
    """Return a caller who reads everything."""
    return operator_of(orchard)
