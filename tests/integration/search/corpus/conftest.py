"""A workspace to write into."""

import pytest

from tests.support.corpus import make_workspace


@pytest.fixture
def workspace(db):
    return make_workspace()
