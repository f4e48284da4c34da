import pytest

from tests.support.actors import make_workspace


@pytest.fixture(autouse=True)
def _test_addresses(settings):
    settings.ROOT_URLCONF = "tests.support.urlconf"


@pytest.fixture
def workspace(db):
    return make_workspace()


@pytest.fixture
def other_workspace(db):
    return make_workspace()
