"""A workspace in which one source is restricted, and its twin that never had it."""

import pytest

from tests.integration.search.engine.conftest import workspace  # noqa: F401 - a fixture
from tests.security.rights.vault import make_vault


@pytest.fixture(autouse=True)
def _files(blobs):
    """Blobs are the test's own."""


@pytest.fixture
def vault(workspace):  # noqa: F811 - the fixture
    """Documents that everybody reads, and canaries in a source that one group reads."""
    return make_vault(workspace)
