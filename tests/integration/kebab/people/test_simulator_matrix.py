"""Reports of the access simulator and answers of the API, for all operations and all kinds of callers."""

import pytest

from kebab.people.models import Role
from kebab.people.operations import operations
from tests.integration.kebab.people.access_cases import callers, compare_permissions, compare_things, fill
from tests.support.actors import make_workspace
from tests.support.api import committed

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _test_addresses():
    """Keep the addresses as shipped."""


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker, tmp_path_factory):
    mirrors = tmp_path_factory.mktemp("simulator-matrix")
    with committed(django_db_blocker, mirrors, fill) as workspace:
        yield workspace, mirrors


def test_reports_allow_what_the_api_allows(db, mirrors):
    assert compare_permissions(make_workspace(), list(operations())) == len(Role) + 6


def test_reports_show_what_the_api_shows(filled, db, settings):
    workspace, settings.KEBAB_MIRROR_DIR = filled
    workspace.refresh_from_db()
    assert compare_things(workspace, callers(workspace)) == 20
