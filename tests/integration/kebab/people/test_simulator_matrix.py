"""Access reports agree with the API for all operations and kinds of callers."""

import pytest

from kebab.identity.models import Role
from kebab.people.access_report import operations
from tests.integration.kebab.people.access_cases import (  # noqa: F401 - fill is called by the fixture
    callers,
    compare_permissions,
    compare_things,
    fill,
)
from tests.support.actors import make_workspace

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _test_addresses():
    """Keep the addresses as shipped."""


def test_reports_allow_what_the_api_allows(db, mirrors):
    assert compare_permissions(make_workspace(), list(operations())) == len(Role) + 6


def test_reports_show_what_the_api_shows(filled):
    assert compare_things(filled, callers(filled)) == 20
