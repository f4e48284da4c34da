"""Fixture of the target of fuzzing."""

import pytest

from tests.drills.fuzzing.stage import create_target


@pytest.fixture
def target(transactional_db, settings, mirrors, blobs):
    settings.KEBAB_WAIT_LIMIT_S = 0
    return create_target()
