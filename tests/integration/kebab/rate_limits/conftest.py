import itertools
import os

import pytest

_hosts = itertools.count(1)


@pytest.fixture
def new_address():
    """Return a function that makes a network address that no other test or run counts requests for."""

    def new_address():
        number = next(_hosts)
        return f"198.{os.getpid() % 250}.{number // 250}.{number % 250 + 1}"

    return new_address


@pytest.fixture
def address(new_address):
    return new_address()
