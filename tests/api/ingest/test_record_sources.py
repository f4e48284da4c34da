"""Sources on the connector protocol over HTTP: configuration, addresses and credentials."""

import json

import pytest
from cryptography.fernet import Fernet

from kebab.encryption import decrypt
from kebab.http.api.models import IdempotencyKey
from kebab.identity.models import AuditEvent
from search.models import Source
from tests.api.refusals import refusal_of
from tests.support.api import address

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "never-shown-0123456789"
LOGIN = {"username": "ada", "password": SECRET}
KEYS = {"access_key_id": "AKIA", "secret_access_key": SECRET}
SERVER = "https://cloud.example.org"
CONFIGS = {
    "s3": ({"url": f"{SERVER}/", "bucket": "docs", "prefix": "a", "region": "eu"}, KEYS),
    "webdav": ({"url": f"{SERVER}/dav/files"}, LOGIN),
    "feed": ({"url": f"{SERVER}/feed.xml?format=rss"}, LOGIN),
    "imap": ({"url": "imaps://mail.example.org:993", "folders": ["INBOX"]}, LOGIN),
    "mediawiki": ({"url": f"{SERVER}/w/api.php", "namespaces": ["0", "12"]}, LOGIN),
    "github": ({"url": "https://github.com/octo/notes", "pull_requests": True}, {"token": SECRET}),
    "gitlab": ({"url": f"{SERVER}/sea/notes", "api_url": f"{SERVER}/api/v4"}, {"token": SECRET}),
    "program": ({"program": "wiki", "options": ["space=docs"]}, {"token": SECRET}),
}


@pytest.fixture(autouse=True)
def _settings(settings):
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    settings.KEBAB_CONNECTORS = {"wiki": ["/usr/bin/wiki"]}


def create(client, workspace, kind, config, **options):
    body = {"key": "docs", "kind": kind, "config": config}
    return client.post(address(workspace, "/sources"), body, format="json", **options)


@pytest.mark.parametrize("kind", CONFIGS)
def test_credentials_are_stored_sealed_and_never_returned(client, workspace, kind):
    config, credentials = CONFIGS[kind]
    given = {**config, "credentials": credentials}
    answers = [create(client, workspace, kind, given, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    source = Source.objects.get()
    path = address(workspace, f"/sources/{source.pk}")
    answers.append(client.get(path))
    assert answers[0].json()["config"] == {**config, "has_credentials": True}
    assert json.loads(decrypt(source.sealed_credentials)) == credentials
    changed = dict.fromkeys(credentials, "other")
    answers.append(client.patch(path, {"credentials": changed}, format="json"))
    assert json.loads(decrypt(Source.objects.get().sealed_credentials)) == changed
    answers.append(client.patch(path, {"credentials": {**credentials, "pass": SECRET}}, format="json"))
    assert refusal_of(answers[-1]) == (400, "unknown_field", "credentials.pass")
    stored = [source.config, *AuditEvent.objects.values_list("detail", flat=True)]
    stored += IdempotencyKey.objects.values_list("body", flat=True)
    for shown in (*(answer.content.decode() for answer in answers), json.dumps(stored)):
        assert SECRET not in shown
        assert source.sealed_credentials not in shown


REFUSED = [
    ("s3", {"url": SERVER}, 400, "config.bucket"),
    ("s3", {"bucket": "docs"}, 400, "config.url"),
    ("s3", {"url": SERVER, "bucket": "docs", "path": "x"}, 400, "config.path"),
    ("s3", {"url": SERVER, "bucket": "docs", "credentials": {"access_key_id": "a"}}, 422, None),
    ("webdav", {"url": f"https://ada:{SECRET}@cloud.example.org"}, 422, None),
    ("webdav", {"url": "ftp://example.org"}, 422, None),
    ("webdav", {"url": SERVER, "credentials": SECRET}, 400, "config.credentials"),
    ("feed", {"url": ""}, 400, "config.url"),
    ("imap", {"url": "imaps://example.org"}, 400, "config.credentials"),
    (
        "imap",
        {"url": "imaps://example.org", "credentials": {"username": "a"}},
        400,
        "config.credentials.password",
    ),
    ("imap", {"url": "https://example.org", "credentials": LOGIN}, 422, None),
    ("imap", {"url": "imaps://example.org:x", "credentials": LOGIN}, 422, None),
    ("imap", {"url": f"imaps://ada:{SECRET}@example.org", "credentials": LOGIN}, 422, None),
    ("imap", {"url": "imaps://example.org", "folders": "INBOX", "credentials": LOGIN}, 400, "config.folders"),
    ("mediawiki", {"url": f"{SERVER}/wiki/Home"}, 422, None),
    ("mediawiki", {"url": f"{SERVER}/api.php", "namespaces": ["Help"]}, 422, None),
    ("github", {"url": "https://github.com/octo"}, 422, None),
    (
        "github",
        {"url": "https://github.com/octo/notes", "pull_requests": "some"},
        400,
        "config.pull_requests",
    ),
    ("gitlab", {"url": f"{SERVER}/sea/notes", "api_url": "http://127.0.0.2/api/v4"}, 422, None),
    ("gitlab", {"url": "http://127.0.0.2/sea/notes"}, 422, None),
    ("program", {"program": "/bin/sh"}, 422, None),
    ("program", {"program": "wiki", "options": ["space"]}, 422, None),
    *(
        (kind, {**CONFIGS[kind][0], "url": url, "credentials": CONFIGS[kind][1]}, 422, None)
        for kind in ("s3", "webdav", "feed")
        for url in ("http://127.0.0.2/", "http://169.254.169.254/", "http://[::1]/", "http://localhost:9000")
    ),
    ("imap", {"url": "imap://127.0.0.2", "credentials": LOGIN}, 422, None),
]


def test_wrong_configuration_is_refused_without_its_secrets(client, workspace, subtests):
    for kind, config, status, field in REFUSED:
        with subtests.test(kind=kind, config=str(config)[:70]):
            response = create(client, workspace, kind, config)
            found, _, refused = refusal_of(response)
            assert (found, refused) == (status, field)
            assert SECRET not in response.content.decode()
    assert not Source.objects.exists()


def test_connection_of_a_source_is_tested(client, workspace, settings, tmp_path):
    settings.KEBAB_FOLDER_ROOTS = [tmp_path]
    folder = tmp_path / "notes"
    folder.mkdir()
    made = create(client, workspace, "folder", {"path": str(folder)}).json()
    path = address(workspace, f"/sources/{made['id']}/test")
    response = client.post(path)
    assert (response.status_code, list(response.json())) == (200, ["found"])
    folder.rmdir()
    assert refusal_of(client.post(path))[:2] == (422, "connection_failed")
    uploads = client.post(
        address(workspace, "/sources"), {"key": "up", "kind": "upload"}, format="json"
    ).json()
    refused = client.post(address(workspace, f"/sources/{uploads['id']}/test"))
    assert refusal_of(refused)[:2] == (409, "nothing_to_sync")
