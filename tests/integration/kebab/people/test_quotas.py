import pytest

from kebab.errors import InvalidRequest
from kebab.identity.models import AuditEvent
from kebab.people.operator import command_line_access
from kebab.people.workspaces import Quota, quota_of, set_quota

pytestmark = pytest.mark.django_db


def test_workspace_without_a_quota_uses_the_configured_default(workspace, settings):
    settings.KEBAB_QUOTAS = {"documents": 7, "bytes": 0, "jobs": 3}
    assert quota_of(workspace) == Quota(documents=7, bytes=0, jobs=3)


def test_quota_is_stored_recorded_and_reset(workspace, settings):
    settings.KEBAB_QUOTAS = {"documents": 7, "bytes": 0, "jobs": 3}
    assert set_quota(command_line_access(workspace), {"documents": 100}).documents == 100
    event = AuditEvent.objects.latest("at")
    assert event.detail["values"] == [{"field": "quota.documents", "before": 7, "after": 100}]
    workspace.refresh_from_db()
    assert quota_of(workspace) == Quota(documents=100, bytes=0, jobs=3)
    assert set_quota(command_line_access(workspace), {"documents": None}).documents == 7


def test_invalid_quota_is_refused(workspace):
    for changes in ({"chunks": 1}, {"documents": -1}, {"documents": "many"}, {"bytes": True}):
        with pytest.raises(InvalidRequest):
            set_quota(command_line_access(workspace), changes)
