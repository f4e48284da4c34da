"""A view without any condition shows the rows of its workspace, and none outside a workspace."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from ingest.tasks import run_job_task
from kebab.identity.models import Group, Workspace
from kebab.tenancy.current_workspace import acting_everywhere, workspace_setting
from tests.security.tenancy.tenants import MODELS
from tests.security.tenancy.urlconf import counts

NOTHING = dict.fromkeys((model.__name__ for model in MODELS), 0)


@pytest.fixture(autouse=True)
def _addresses(settings):
    settings.ROOT_URLCONF = "tests.security.tenancy.urlconf"


@pytest.fixture
def alpha_counts(alpha):
    """Return the counts of alpha alone, before beta exists."""
    return counts()


def token_client(tenant):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {tenant.secret}")
    return client


def session_client(tenant):
    client = Client()
    client.force_login(tenant.owner)
    return client


@pytest.mark.parametrize("caller", [token_client, session_client])
def test_workspace_view_sees_its_workspace_alone(alpha_counts, alpha, beta, caller):
    seen = caller(alpha).get(f"/workspaces/{alpha.id}/counts").json()
    assert seen == alpha_counts
    assert min(seen.values()) > 0


def test_workspace_page_sees_its_workspace_alone(alpha_counts, alpha, beta):
    assert session_client(alpha).get("/w/alpha/counts").json() == alpha_counts


@pytest.mark.parametrize("path", ["/api/v1/counts", "/counts", "/plain", "/admin/counts"])
def test_view_without_a_workspace_sees_nothing(alpha, beta, path):
    assert session_client(alpha).get(path).json() == NOTHING


def test_stranger_sees_nothing(alpha):
    assert Client().get("/plain").json() == NOTHING
    assert Client().get("/admin/counts").json() == NOTHING


def test_admin_shows_everything_to_an_operator_alone(alpha, beta):
    alpha.owner.is_staff = True
    alpha.owner.save()
    client = session_client(alpha)
    assert client.get("/admin/counts").json()["Workspace"] == 2
    assert client.get("/plain").json() == NOTHING
    alpha.owner.is_active = False
    alpha.owner.save()
    assert client.get("/admin/counts").json() == NOTHING


@pytest.mark.parametrize("caller", [token_client, session_client])
def test_view_cannot_write_to_another_workspace(alpha, beta, caller):
    client = APIClient(enforce_csrf_checks=False)
    if caller is session_client:
        client.force_login(alpha.owner)
    else:
        client = token_client(alpha)
    answer = client.post(f"/workspaces/{alpha.id}/counts", {"workspace": str(beta.id)}, format="json").json()
    assert "row-level security" in answer["refused"]
    assert answer["renamed"] == 0
    assert not Group.objects.filter(name="planted").exists()
    assert Workspace.objects.get(pk=beta.id).name == "beta"


def test_request_resets_the_workspace_of_its_thread(alpha):
    with acting_everywhere():
        assert session_client(alpha).get("/w/alpha/counts").status_code == 200
        assert session_client(alpha).get("/w/missing/counts").status_code == 404
        assert workspace_setting() == "*"


def test_request_starts_without_the_workspace_of_its_thread(alpha):
    with acting_everywhere():
        assert Client().get("/plain").json() == NOTHING


def test_task_sees_its_workspace(monkeypatch, alpha):
    acted = []
    monkeypatch.setattr("ingest.tasks.run_job", lambda *_: acted.append(workspace_setting()))
    run_job_task(str(alpha.id), str(alpha.id))
    assert acted == [str(alpha.id)]
