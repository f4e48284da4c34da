import pytest


@pytest.fixture(autouse=True)
def _test_addresses(settings):
    settings.ROOT_URLCONF = "tests.support.urlconf"
