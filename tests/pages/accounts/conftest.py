import itertools
import secrets

import pytest
from django.core import mail
from django.test import Client

from kebab.identity.models import AuditEvent, Membership, Role, User, Workspace
from tests.pages.accounts.people import PASSWORD

# The Redis of a kept data directory remembers for an hour how often an address of an earlier run has asked.
_hosts = itertools.count(secrets.randbelow(2**16))


@pytest.fixture
def address():
    """Return a network address that no other test sends requests from: limits are counted by it."""
    number = next(_hosts) % 2**16
    return f"198.18.{number // 256}.{number % 256}"


@pytest.fixture
def visitor(address):
    """Return a browser without a session."""
    return Client(REMOTE_ADDR=address)


@pytest.fixture
def ada(db):
    return User.objects.create_user("ada@example.org", PASSWORD, display_name="Ada")


@pytest.fixture
def workspace(db):
    return Workspace.objects.create(slug="handbook", name="Team handbook")


@pytest.fixture
def owner(workspace):
    user = User.objects.create_user("olga@example.org", PASSWORD)
    Membership.objects.create(workspace=workspace, user=user, role=Role.OWNER)
    return user


@pytest.fixture
def outbox(monkeypatch):
    """Return the list of sent mails, which are sent at once."""
    monkeypatch.setattr("kebab.accounts.views.queue_reset_mail", _mail_link_now)
    return mail.outbox


def _mail_link_now(email, site):
    from kebab.accounts import secret_links

    secret_links.send_reset_mail(email, site)


@pytest.fixture
def acts(db):
    """Return the audit log in order: action, subject and address."""
    return lambda: list(AuditEvent.objects.order_by("at").values_list("action", "subject", "address"))
