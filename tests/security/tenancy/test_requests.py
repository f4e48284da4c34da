"""A view that forgot every condition shows the workspace of its request, and one of no workspace nothing."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from ingest.tasks import run_job_task
from kebab.people.models import Group, Workspace
from kebab.tenancy.current_workspace import acting_everywhere, workspace_setting
from tests.security.tenancy.tenants import MODELS
from tests.security.tenancy.urlconf import counts

NOTHING = dict.fromkeys((model.__name__ for model in MODELS), 0)


@pytest.fixture(autouse=True)
def _addresses(settings):
    settings.ROOT_URLCONF = "tests.security.tenancy.urlconf"


@pytest.fixture
def of_alpha(alpha):
    """What there is of alpha alone, before there is a beta."""
    return counts()


def tool(tenant):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {tenant.secret}")
    return client


def person(tenant):
    client = Client()
    client.force_login(tenant.owner)
    return client


@pytest.mark.parametrize("caller", [tool, person])
def test_a_view_below_a_workspace_sees_that_workspace(of_alpha, alpha, beta, caller):
    seen = caller(alpha).get(f"/workspaces/{alpha.id}/counts").json()
    assert seen == of_alpha
    assert min(seen.values()) > 0


def test_a_page_of_a_workspace_sees_that_workspace(of_alpha, alpha, beta):
    assert person(alpha).get("/w/alpha/counts").json() == of_alpha


@pytest.mark.parametrize("path", ["/api/v1/counts", "/counts", "/plain", "/admin/counts"])
def test_a_view_of_no_workspace_sees_nothing(alpha, beta, path):
    assert person(alpha).get(path).json() == NOTHING


def test_a_stranger_sees_nothing(alpha):
    assert Client().get("/plain").json() == NOTHING
    assert Client().get("/admin/counts").json() == NOTHING


def test_the_admin_shows_all_to_an_operator_alone(alpha, beta):
    alpha.owner.is_staff = True
    alpha.owner.save()
    client = person(alpha)
    assert client.get("/admin/counts").json()["Workspace"] == 2
    assert client.get("/plain").json() == NOTHING
    alpha.owner.is_active = False
    alpha.owner.save()
    assert client.get("/admin/counts").json() == NOTHING


@pytest.mark.parametrize("caller", [tool, person])
def test_a_view_can_write_nothing_into_another_workspace(alpha, beta, caller):
    client = APIClient(enforce_csrf_checks=False)
    if caller is person:
        client.force_login(alpha.owner)
    else:
        client = tool(alpha)
    answer = client.post(f"/workspaces/{alpha.id}/counts", {"workspace": str(beta.id)}, format="json").json()
    assert "row-level security" in answer["refused"]
    assert answer["renamed"] == 0
    assert not Group.objects.filter(name="planted").exists()
    assert Workspace.objects.get(pk=beta.id).name == "beta"


def test_a_request_leaves_nothing_behind_in_its_thread(alpha):
    with acting_everywhere():
        assert person(alpha).get("/w/alpha/counts").status_code == 200
        assert person(alpha).get("/w/missing/counts").status_code == 404
        assert workspace_setting() == "*"


def test_a_request_begins_nowhere_whatever_its_thread_did_before(alpha):
    with acting_everywhere():
        assert Client().get("/plain").json() == NOTHING


def test_a_task_acts_in_its_workspace(monkeypatch, alpha):
    acted = []
    monkeypatch.setattr("ingest.tasks.run_job", lambda *_: acted.append(workspace_setting()))
    run_job_task(str(alpha.id), str(alpha.id))
    assert acted == [str(alpha.id)]
