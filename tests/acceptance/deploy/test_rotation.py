"""Keys are replaced without ending anything, as docs/operations/rotate.md says."""

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth import get_user
from django.test import Client, RequestFactory

from kebab.encryption import decrypt, encrypt
from kebab.people.models import AuditEvent, User
from kebab.people.sessions import SessionStore, is_session_valid
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
    """Put a new secret key in the place of the old one, which stays good or doesn't."""

    def act(*, keeps_old):
        settings.SECRET_KEY = NEW
        settings.SECRET_KEY_FALLBACKS = [OLD] if keeps_old else []

    return act


def notes(workspace, query):
    return f"/api/v1/workspaces/{workspace.slug}/notes?{query}"


def test_the_cursor_of_a_list_goes_on_under_a_new_key(workspace, rotate):
    for number in range(3):
        AuditEvent.objects.create(workspace=workspace, actor="a", action="note", subject=str(number))
    client = token_client(workspace, "search")
    cursor = client.get(notes(workspace, "limit=2")).json()["next_cursor"]
    rotate(keeps_old=True)
    page = client.get(notes(workspace, f"limit=2&cursor={cursor}"))
    assert [row["text"] for row in page.json()["results"]] == ["0"]
    rotate(keeps_old=False)
    assert client.get(notes(workspace, f"limit=2&cursor={cursor}")).status_code == 400


def test_a_request_that_is_retried_under_a_new_key_is_done_once(workspace, rotate):
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


def logged_in(client):
    """As whom the client's next request is answered, and the key of its session."""
    request = RequestFactory().get("/")
    request.session = SessionStore(client.session.session_key)
    user = get_user(request)
    request.session.save()
    return user, request.session.session_key


@pytest.mark.parametrize("keeps_old", [True, False])
def test_a_session_goes_on_as_long_as_the_old_key_is_kept(workspace, rotate, keeps_old):
    client = Client()
    person = User.objects.create_user("ada@example.org", password="correct horse battery 7")
    client.force_login(person)
    key = client.session.session_key
    rotate(keeps_old=keeps_old)
    assert is_session_valid(key, person) is keeps_old
    user, key = logged_in(client)
    assert user.is_authenticated is keeps_old
    if keeps_old:  # signed anew, so that the old key may go
        rotate(keeps_old=False)
        assert is_session_valid(key, person)


@pytest.fixture
def sealed(db, settings):
    """Two sources' credentials under the old key, of which one is no key's any more."""
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    workspace = make_workspace()
    kept, lost = (
        ensure_source(workspace, name, kind="git", config={"url": "x"}) for name in ("kept", "lost")
    )
    Source.objects.filter(pk=kept.pk).update(sealed_credentials=encrypt("opens"))
    Source.objects.filter(pk=lost.pk).update(sealed_credentials="no key's")
    return kept, lost


def test_reseal_says_what_is_under_the_new_key_and_what_nothing_opens(sealed, settings):
    kept, lost = sealed
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.KEBAB_ENCRYPTION_KEYS]
    first = run_json("reseal", code=3)
    assert (first["changed"], first["unchanged"], first["unopened"]) == (1, 0, [str(lost.pk)])
    again = run_json("reseal", code=3)
    assert (again["changed"], again["unchanged"]) == (0, 1)
    settings.KEBAB_ENCRYPTION_KEYS = settings.KEBAB_ENCRYPTION_KEYS[:1]
    kept.refresh_from_db()
    assert decrypt(kept.sealed_credentials) == "opens"


def test_reseal_ends_well_when_the_old_key_may_go(sealed):
    _, lost = sealed
    lost.delete()
    code, out, _ = run("reseal")
    assert (code, "0 can't be opened" in out) == (0, True)
