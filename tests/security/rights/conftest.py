"""A workspace with a restricted source, and its twin that never had it."""

import pytest

from tests.integration.search.engine.conftest import workspace  # noqa: F401 - a fixture
from tests.security.rights.vault import make_vault


@pytest.fixture(autouse=True)
def _files(blobs):
    """Use blobs of the test's own."""


@pytest.fixture
def vault(workspace):  # noqa: F811 - the fixture
    """Create open documents, and canaries in a source that one group may read."""
    return make_vault(workspace)
