import pytest

from tests.api_plumbing.actors import make_workspace


@pytest.fixture(autouse=True)
def _test_addresses(settings):
    settings.ROOT_URLCONF = "tests.api_plumbing.urlconf"


@pytest.fixture
def workspace(db):
    return make_workspace()


@pytest.fixture
def other_workspace(db):
    return make_workspace()
