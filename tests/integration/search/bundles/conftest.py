"""A workspace with something of everything that a bundle holds, its bundle, and what became of that."""

import pytest

from search import embedding
from search.bundles.export import export_bundle
from search.bundles.importing import ImportRequest, import_bundle
from tests.integration.search.bundles.making import fill
from tests.integration.search.vectors.indexes import drop_indexes
from tests.support.corpus import make_workspace


@pytest.fixture
def patience(mirrors, blobs, settings):
    settings.KEBAB_LEG_LIMIT_MS = 60_000


@pytest.fixture
def workspace(transactional_db, patience):
    """A filled workspace, committed: exports and imports have transactions of their own."""
    yield fill(make_workspace(settings={"default_k": 7}))
    drop_indexes()


@pytest.fixture
def bundle(workspace, tmp_path):
    """The workspace in a file."""
    export_bundle(workspace, tmp_path / "all.kebab")
    return tmp_path / "all.kebab"


@pytest.fixture
def imported(bundle):
    """A workspace that was made of the file."""
    return import_bundle(ImportRequest(file=bundle, slug="elsewhere")).workspace


@pytest.fixture
def set_embedder(settings):
    """Choose this process's embedder by name, for one test."""

    def choose(name):
        settings.KEBAB_EMBEDDER = name
        embedding.forget_queries()

    yield choose
    embedding.forget_queries()
