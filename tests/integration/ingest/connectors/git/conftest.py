"""Sources that read repositories on this machine."""

import pytest


@pytest.fixture
def source(git_source):
    return git_source
