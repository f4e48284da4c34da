import itertools
import os

import pytest

_hosts = itertools.count(1)


@pytest.fixture
def address():
    """Give a network address that no other test counts under, and no other run on the same Redis."""
    number = next(_hosts)
    return f"198.{os.getpid() % 250}.{number // 250}.{number % 250 + 1}"
