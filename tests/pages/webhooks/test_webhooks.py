"""The pages of webhooks."""

import re

import pytest

from kebab.identity.models import Role
from kebab.webhooks.models import Delivery, Endpoint
from tests.support.actors import make_workspace, member_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace():
    return make_workspace("handbook")


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


def create(admin, **fields):
    form = {"url": "https://hooks.example.org/", "events": ["job.failed"], "description": "n8n", **fields}
    return admin.post("/w/handbook/webhooks", form)


def test_webhook_is_created_tested_switched_and_deleted(admin):
    page = create(admin).content.decode()
    assert re.search(r'value="whsec_[^"]{40,}"', page)
    one = f"/w/handbook/webhooks/{Endpoint.objects.get().pk}"
    assert "whsec_" not in admin.get("/w/handbook/webhooks").content.decode()

    assert admin.post(f"{one}/test").url == one
    assert Delivery.objects.get().message_id in admin.get(one).content.decode()
    assert admin.post(f"{one}/switch?on=no").url == one
    assert Endpoint.objects.get().disabled_at is not None
    assert admin.post(f"{one}/test").status_code == 409
    admin.post(f"{one}/switch")
    assert Endpoint.objects.get().disabled_at is None
    assert admin.post(f"{one}/delete").url == "/w/handbook/webhooks"
    assert not Endpoint.objects.exists() and admin.get(one).status_code == 404


@pytest.mark.parametrize(
    "wrong", [{"url": ""}, {"url": "http://hooks.example.org/"}, {"events": []}, {"events": ["nonsense"]}]
)
def test_wrong_webhook_is_refused_on_its_form(admin, wrong):
    answer = create(admin, **wrong)
    assert (answer.status_code, Endpoint.objects.count()) == (400, 0)
    assert 'role="alert"' in answer.content.decode()
