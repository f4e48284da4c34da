"""Git sources over HTTP: what they read may be said, what they are read with is never given back."""

import json
import logging

import pytest
from cryptography.fernet import Fernet

from ingest.connectors.git.credentials import unseal_credentials
from kebab.api.models import IdempotencyKey
from kebab.people.models import AuditEvent
from search.models import Document, Source, SourceVersion
from tests.integration.ingest.jobs.repositories import WrittenRepository
from tests.support.api import address, run

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "never-shown-0123456789"
HTTPS = "https://git.example.org/owner/repo.git"


@pytest.fixture(autouse=True)
def _settings(settings, tmp_path):
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_FOLDER_ROOTS = [tmp_path.resolve()]
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]


@pytest.fixture
def repository(tmp_path):
    made = WrittenRepository(tmp_path / "origin")
    made.commit({"a.md": "# Alpha\n", "kebab.json": '{"previousVersions": [{"tag": "v1", "title": "One"}]}'})
    made.git("tag", "v1")
    return made


def create(client, workspace, key="repo", headers=None, **config):
    body = {"key": key, "kind": "git", "config": config}
    return client.post(address(workspace, "/sources"), body, format="json", headers=headers or {})


def test_a_repository_is_made_synced_and_given_a_version(client, workspace, repository):
    response = create(client, workspace, url=repository.url)
    assert response.status_code == 201, response.content
    source = response.json()
    assert source["config"] == {"url": repository.url, "has_credentials": False}
    synced = client.post(address(workspace, f"/sources/{source['id']}/sync"))
    assert run(workspace, synced).state == "succeeded"
    offered = client.get(response.headers["Location"]).json()["offered_versions"]
    assert offered == {"v1": "One"}
    added = client.post(address(workspace, f"/sources/{source['id']}/versions"), {"tag": "v1"}, format="json")
    assert (added.status_code, run(workspace, added).state) == (202, "succeeded")

    rows = client.get(address(workspace, f"/sources/{source['id']}/versions")).json()["results"]
    assert [(row["version"], row["title"], row["commit"]) for row in rows] == [
        (None, "", repository.head()),
        ("v1", "One", repository.head()),
    ]
    assert Document.objects.filter(path="a.md").count() == 2
    assert SourceVersion.objects.count() == 2


def test_a_library_takes_its_id_from_the_host(client, workspace):
    assert create(client, workspace, url=HTTPS).json()["library_id"] == "/owner/repo"


def test_a_branch_is_kept(client, workspace):
    config = create(client, workspace, url=HTTPS, branch="stable").json()["config"]

    assert config == {"url": HTTPS, "branch": "stable", "has_credentials": False}


def test_patterns_of_tags_are_kept(client, workspace):
    config = create(client, workspace, url=HTTPS, tags=["v*", "docs/*"]).json()["config"]

    assert config == {"url": HTTPS, "tags": ["v*", "docs/*"], "has_credentials": False}


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("ext::sh", "address_not_allowed"),
        ("git://example.org/a/b", "address_not_allowed"),
        ("http://example.org/a/b", "address_not_allowed"),
        ("https://127.0.0.1/a/b", "address_not_allowed"),
        ("https://[::1]/a/b", "address_not_allowed"),
        ("https://169.254.169.254/a/b", "address_not_allowed"),
        ("https://localhost/a/b", "address_not_allowed"),
        ("ssh://git@10.0.0.1/a/b", "address_not_allowed"),
        ("git@192.168.1.1:a/b", "address_not_allowed"),
        ("--upload-pack=touch", "address_not_allowed"),
        ("file:///etc", "folder_not_allowed"),
        ("file:///nowhere", "folder_not_allowed"),
        ("file://host/etc", "address_not_allowed"),
    ],
)
def test_an_address_that_may_not_be_read_is_refused(client, workspace, url, code):
    response = create(client, workspace, url=url)

    assert (response.status_code, response.json()["code"]) == (422, code)
    assert not Source.objects.exists()


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({}, "config"),
        ({"url": ""}, "config"),
        ({"url": HTTPS, "path": "/x"}, "config"),
        ({"url": HTTPS, "branch": ""}, "config"),
        ({"url": HTTPS, "tags": "v*"}, "config"),
        ({"url": HTTPS, "tags": ["[v"]}, "config"),
        ({"url": HTTPS, "credentials": {}}, "config"),
        ({"url": HTTPS, "credentials": {"token": "a", "password": "b"}}, "config"),
        ({"url": HTTPS, "credentials": SECRET}, "config"),
        ({"url": HTTPS, "credentials": {"pass": SECRET}}, "config"),
    ],
)
def test_a_wrong_config_is_refused_by_its_field(client, workspace, config, field):
    response = create(client, workspace, **config)

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"].startswith(field)
    assert SECRET not in response.content.decode()


@pytest.mark.parametrize(
    ("url", "credentials"),
    [
        (f"https://ada:{SECRET}@git.example.org/a/b", None),
        (HTTPS, {"password": SECRET}),
        (HTTPS, {"private_key": SECRET}),
        ("git@git.example.org:a/b", {"token": SECRET}),
        ("git@git.example.org:a/b", {"private_key": SECRET}),
    ],
)
def test_credentials_that_do_not_fit_are_refused_without_being_repeated(client, workspace, url, credentials):
    response = create(client, workspace, url=url, credentials=credentials)

    assert response.status_code == 422
    assert response.json()["code"] in {"credentials_refused", "address_not_allowed"}
    assert SECRET not in response.content.decode()


def test_credentials_are_stored_sealed_and_never_given_back(client, workspace, caplog):
    caplog.set_level(logging.DEBUG)
    given = {"username": "ada", "password": SECRET}
    headers = {"Idempotency-Key": "k"}
    answers = [create(client, workspace, headers=headers, url=HTTPS, credentials=given) for _ in range(2)]
    source = Source.objects.get()
    path = address(workspace, f"/sources/{source.pk}")
    answers += [client.get(path), client.get(address(workspace, "/sources"))]

    assert answers[0].json()["config"] == {"url": HTTPS, "has_credentials": True}
    assert unseal_credentials(source.sealed_credentials).password == SECRET
    stored = [source.config, source.sealed_credentials, *AuditEvent.objects.values_list("detail", flat=True)]
    stored += IdempotencyKey.objects.values_list("body", flat=True)
    for shown in (*(answer.content.decode() for answer in answers), json.dumps(stored), caplog.text):
        assert SECRET not in shown
    for answer in answers:
        assert source.sealed_credentials not in answer.content.decode()


def test_credentials_are_replaced_and_taken_away(client, workspace):
    made = create(client, workspace, url=HTTPS, credentials={"token": "first"}).json()
    path = address(workspace, f"/sources/{made['id']}")
    changed = client.patch(path, {"credentials": {"token": SECRET}}, format="json")
    assert (changed.status_code, changed.json()["config"]["has_credentials"]) == (200, True)
    assert unseal_credentials(Source.objects.get().sealed_credentials).password == SECRET
    assert client.patch(path, {"title": "Else"}, format="json").json()["config"]["has_credentials"]

    taken = client.patch(path, {"credentials": None}, format="json").json()
    assert not taken["config"]["has_credentials"]
    assert Source.objects.get().sealed_credentials == ""
    details = AuditEvent.objects.filter(action="source.changed").values_list("detail", flat=True)
    assert {"fields": ["credentials"]} in list(details)
    assert SECRET not in json.dumps(list(details))


def test_other_kinds_take_no_credentials(client, workspace):
    made = client.post(address(workspace, "/sources"), {"key": "u", "kind": "upload"}, format="json").json()
    path = address(workspace, f"/sources/{made['id']}")
    response = client.patch(path, {"credentials": {"token": SECRET}}, format="json")

    assert (response.status_code, response.json()["code"]) == (409, "takes_no_credentials")


def test_without_a_key_of_the_operators_no_credentials_are_taken(client, workspace, settings):
    settings.KEBAB_ENCRYPTION_KEYS = []
    response = create(client, workspace, url=HTTPS, credentials={"token": SECRET})

    assert (response.status_code, response.json()["code"]) == (422, "credentials_refused")
    assert "KEBAB_ENCRYPTION_KEYS" in response.json()["detail"]
    assert create(client, workspace, url=HTTPS).status_code == 201
