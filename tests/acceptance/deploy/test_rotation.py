"""Rotation of keys interrupts nothing, as described in docs/operations/rotate.md."""

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth import get_user
from django.test import Client, RequestFactory

from kebab.encryption import decrypt, encrypt
from kebab.identity.models import AuditEvent, User
from kebab.identity.sessions import SessionStore, is_session_valid
from search.corpus import ensure_source
from search.models import Source
from tests.cli.commands import run, run_json
from tests.support.actors import make_workspace, token_client

OLD, NEW = "the-secret-key-before-" + "o" * 40, "the-secret-key-after-" + "n" * 40


@pytest.fixture
def workspace(db, settings):
    settings.ROOT_URLCONF = "tests.support.urlconf"
    settings.SECRET_KEY = OLD
    return make_workspace()


@pytest.fixture
def rotate(settings):
    """Return a function that replaces the secret key, with the old one as fallback or not."""

    def act(*, keeps_old):
        settings.SECRET_KEY = NEW
        settings.SECRET_KEY_FALLBACKS = [OLD] if keeps_old else []

    return act


def notes(workspace, query):
    return f"/api/v1/workspaces/{workspace.slug}/notes?{query}"


def test_list_cursor_works_under_a_new_key(workspace, rotate):
    for number in range(3):
        AuditEvent.objects.create(workspace=workspace, actor="a", action="note", subject=str(number))
    client = token_client(workspace, "search")
    cursor = client.get(notes(workspace, "limit=2")).json()["next_cursor"]
    rotate(keeps_old=True)
    page = client.get(notes(workspace, f"limit=2&cursor={cursor}"))
    assert [row["text"] for row in page.json()["results"]] == ["0"]
    rotate(keeps_old=False)
    assert client.get(notes(workspace, f"limit=2&cursor={cursor}")).status_code == 400


def test_request_retried_under_a_new_key_is_done_once(workspace, rotate):
    client = token_client(workspace, "ingest")

    def send(text):
        headers = {"Idempotency-Key": "k1"}
        return client.post(notes(workspace, ""), {"text": text}, format="json", headers=headers)

    assert send("a").status_code == 201
    rotate(keeps_old=True)
    assert send("a").headers["Idempotency-Replayed"] == "true"
    assert send("b").status_code == 422
    rotate(keeps_old=False)
    assert send("a").status_code == 422


def current_session(client):
    """Return the user of the client's next request, and the key of its session."""
    request = RequestFactory().get("/")
    request.session = SessionStore(client.session.session_key)
    user = get_user(request)
    request.session.save()
    return user, request.session.session_key


@pytest.mark.parametrize("keeps_old", [True, False])
def test_session_is_valid_while_the_old_key_is_a_fallback(workspace, rotate, keeps_old):
    client = Client()
    person = User.objects.create_user("ada@example.org", password="correct horse battery 7")
    client.force_login(person)
    key = client.session.session_key
    rotate(keeps_old=keeps_old)
    assert is_session_valid(key, person) is keeps_old
    user, key = current_session(client)
    assert user.is_authenticated is keeps_old
    if keeps_old:  # the session is signed again, so the old key can be removed
        rotate(keeps_old=False)
        assert is_session_valid(key, person)


@pytest.fixture
def sealed_sources(db, settings):
    """Create two sources with sealed credentials: one under the old key, one under no key."""
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    workspace = make_workspace()
    openable, unopenable = (
        ensure_source(workspace, name, kind="git", config={"url": "x"}) for name in ("kept", "lost")
    )
    Source.objects.filter(pk=openable.pk).update(sealed_credentials=encrypt("opens"))
    Source.objects.filter(pk=unopenable.pk).update(sealed_credentials="no key's")
    return openable, unopenable


def test_reseal_reports_resealed_and_unopenable_credentials(sealed_sources, settings):
    openable, unopenable = sealed_sources
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.KEBAB_ENCRYPTION_KEYS]
    first = run_json("reseal", code=3)
    assert (first["changed"], first["unchanged"], first["unopened"]) == (1, 0, [str(unopenable.pk)])
    again = run_json("reseal", code=3)
    assert (again["changed"], again["unchanged"]) == (0, 1)
    settings.KEBAB_ENCRYPTION_KEYS = settings.KEBAB_ENCRYPTION_KEYS[:1]
    openable.refresh_from_db()
    assert decrypt(openable.sealed_credentials) == "opens"


def test_reseal_succeeds_when_the_old_key_can_be_removed(sealed_sources):
    _, unopenable = sealed_sources
    unopenable.delete()
    code, out, _ = run("reseal")
    assert (code, "0 can't be opened" in out) == (0, True)
