"""A workspace to write into."""

import pytest

from tests.corpus.making import make_workspace


@pytest.fixture
def workspace(db):
    return make_workspace()
