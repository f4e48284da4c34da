"""Fixtures of mirror tests."""

import pytest

from search.mirror.files import MirrorFiles
from tests.support.corpus import make_workspace


@pytest.fixture
def workspace(transactional_db):
    return make_workspace()


@pytest.fixture
def files(workspace, mirrors):
    return MirrorFiles.of(mirrors, workspace.pk)
