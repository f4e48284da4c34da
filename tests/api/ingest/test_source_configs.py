"""Git and web sources over HTTP: addresses, configuration and credentials."""

import json
import logging

import pytest
from cryptography.fernet import Fernet

from ingest.connectors.git.credentials import decrypt_credentials
from ingest.models import JobItem, WebPage
from kebab.http.api.models import IdempotencyKey
from kebab.identity.models import AuditEvent
from search.models import Document, Source, SourceVersion
from tests.api.refusals import refusal_of
from tests.integration.ingest.connectors.git.repositories import WrittenRepository
from tests.integration.ingest.connectors.web.site import html, serving
from tests.support.api import address, run
from tests.support.schemas import validate

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "never-shown-0123456789"
REPOSITORY = "https://git.example.org/owner/repo.git"
PAGE = "https://example.org/"


@pytest.fixture(autouse=True)
def _settings(settings, tmp_path):
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_FOLDER_ROOTS = [tmp_path.resolve()]
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.KEBAB_CRAWL_REQUESTS_PER_S = 10_000


@pytest.fixture
def repository(tmp_path):
    made = WrittenRepository(tmp_path / "origin")
    made.commit({"a.md": "# Alpha\n", "kebab.json": '{"previousVersions": [{"tag": "v1", "title": "One"}]}'})
    made.git("tag", "v1")
    return made


@pytest.fixture
def site():
    with serving() as running:
        running.pages["/"] = html("Home", "/a.html", "/b.html")
        running.pages["/a.html"] = html("Apples")
        running.pages["/b.html"] = html("Bananas")
        yield running


def create(client, workspace, kind, config, *, headers=None):
    body = {"key": "docs", "kind": kind, "config": config}
    return client.post(address(workspace, "/sources"), body, format="json", headers=headers or {})


def create_git(client, workspace, headers=None, **config):
    return create(client, workspace, "git", config, headers=headers)


def test_repository_is_synced_and_given_a_version(client, workspace, repository):
    response = create_git(client, workspace, url=repository.url)
    assert response.status_code == 201, response.content
    path = address(workspace, f"/sources/{response.json()['id']}")
    assert response.json()["config"] == {"url": repository.url, "has_credentials": False}
    assert run(workspace, client.post(f"{path}/sync")).state == "succeeded"
    assert client.get(path).json()["offered_versions"] == {"v1": "One"}
    added = client.post(f"{path}/versions", {"tag": "v1"}, format="json")
    assert (added.status_code, run(workspace, added).state) == (202, "succeeded")

    rows = client.get(f"{path}/versions").json()["results"]
    assert [(row["version"], row["title"], row["commit"]) for row in rows] == [
        (None, "", repository.head()),
        ("v1", "One", repository.head()),
    ]
    assert Document.objects.filter(path="a.md").count() == 2
    assert SourceVersion.objects.count() == 2


def test_git_configuration_is_stored(client, workspace):
    config = {"url": REPOSITORY, "branch": "stable", "tags": ["v*", "docs/*"]}
    made = create_git(client, workspace, **config).json()
    assert (made["config"], made["library_id"]) == ({**config, "has_credentials": False}, "/owner/repo")


FORBIDDEN = [
    *(("git", url, "address_not_allowed") for url in ("ext::sh", "--upload-pack=touch", "file://host/etc")),
    *(("git", f"{scheme}://example.org/a/b", "address_not_allowed") for scheme in ("git", "http")),
    *(
        ("git", f"https://{host}/a/b", "address_not_allowed")
        for host in ("127.0.0.2", "[::1]", "169.254.169.254", "localhost")
    ),
    ("git", "ssh://git@10.0.0.1/a/b", "address_not_allowed"),
    ("git", "git@192.168.1.1:a/b", "address_not_allowed"),
    ("git", "file:///etc", "folder_not_allowed"),
    ("git", "file:///nowhere", "folder_not_allowed"),
    *(
        ("web", f"http://{host}/", "address_not_allowed")
        for host in ("127.0.0.2", "localhost:8000", "169.254.169.254", "[::1]")
    ),
]


def test_forbidden_address_is_refused(client, workspace, subtests):
    for kind, url, code in FORBIDDEN:
        with subtests.test(kind=kind, url=url):
            response = create(client, workspace, kind, {"url": url})
            assert refusal_of(response)[:2] == (422, code)
            assert kind == "git" or "KEBAB_PRIVATE_HOSTS" in response.json()["detail"]
    assert not Source.objects.exists()


WRONG_CONFIGS = [
    ("git", {}, "config.url"),
    ("git", {"url": ""}, "config.url"),
    ("git", {"url": REPOSITORY, "path": "/x"}, "config.path"),
    ("git", {"url": REPOSITORY, "branch": ""}, "config.branch"),
    ("git", {"url": REPOSITORY, "tags": "v*"}, "config.tags"),
    ("git", {"url": REPOSITORY, "tags": ["[v"]}, "config.tags"),
    ("git", {"url": REPOSITORY, "credentials": {}}, "config.credentials"),
    ("git", {"url": REPOSITORY, "credentials": {"token": "a", "password": "b"}}, "config.credentials"),
    ("git", {"url": REPOSITORY, "credentials": SECRET}, "config.credentials"),
    ("git", {"url": REPOSITORY, "credentials": {"pass": SECRET}}, "config.credentials.pass"),
    ("web", {}, "config"),
    ("web", {"max_pages": 5}, "config"),
    ("web", {"url": "ftp://example.org/"}, "config"),
    ("web", {"url": "example.org"}, "config"),
    ("web", {"url": f"https://user:{SECRET}@example.org/"}, "config"),
    ("web", {"url": "https://[::1"}, "config"),
    ("web", {"url": "x" * 3_000}, "config.url"),
    ("web", {"url": PAGE, "sitemap": "https://example.com/map.xml"}, "config"),
    ("web", {"url": PAGE, "include": [""]}, "config.include[0]"),
    ("web", {"url": PAGE, "exclude": ["[a"]}, "config.exclude"),
    ("web", {"url": PAGE, "include": ["a"] * 101}, "config.include"),
    ("web", {"url": PAGE, "max_pages": 0}, "config.max_pages"),
    ("web", {"url": PAGE, "max_pages": 10**9}, "config.max_pages"),
    ("web", {"url": PAGE, "max_depth": -1}, "config.max_depth"),
    ("web", {"url": PAGE, "query_parameters": "lang"}, "config.query_parameters"),
    ("web", {"url": PAGE, "path": "/etc"}, "config.path"),
]


def test_wrong_configuration_is_refused_by_its_field(client, workspace, subtests):
    for kind, config, field in WRONG_CONFIGS:
        with subtests.test(kind=kind, config=str(config)[:70]):
            response = create(client, workspace, kind, config)
            status, _, refused_field = refusal_of(response)
            assert (status, refused_field) == (400, field)
            assert SECRET not in response.content.decode()
    assert not Source.objects.exists()


def test_credentials_of_another_transport_are_refused_and_not_echoed(client, workspace, settings, subtests):
    for url, credentials, code in (
        (f"https://ada:{SECRET}@git.example.org/a/b", None, "address_not_allowed"),
        (REPOSITORY, {"password": SECRET}, "credentials_refused"),
        (REPOSITORY, {"private_key": SECRET}, "credentials_refused"),
        ("git@git.example.org:a/b", {"token": SECRET}, "credentials_refused"),
        ("git@git.example.org:a/b", {"private_key": SECRET}, "credentials_refused"),
    ):
        with subtests.test(url=url, credentials=credentials):
            response = create_git(client, workspace, url=url, credentials=credentials)
            assert refusal_of(response)[:2] == (422, code)
            assert SECRET not in response.content.decode()

    settings.KEBAB_ENCRYPTION_KEYS = []
    response = create_git(client, workspace, url=REPOSITORY, credentials={"token": SECRET})
    assert refusal_of(response)[:2] == (422, "credentials_refused")
    assert "KEBAB_ENCRYPTION_KEYS" in response.json()["detail"]
    assert create_git(client, workspace, url=REPOSITORY).status_code == 201

    made = client.post(address(workspace, "/sources"), {"key": "u", "kind": "upload"}, format="json").json()
    path = address(workspace, f"/sources/{made['id']}")
    response = client.patch(path, {"credentials": {"token": SECRET}}, format="json")
    assert refusal_of(response)[:2] == (409, "takes_no_credentials")


def test_credentials_are_stored_sealed_and_never_returned(client, workspace, caplog):
    caplog.set_level(logging.DEBUG)
    given = {"username": "ada", "password": SECRET}
    headers = {"Idempotency-Key": "k"}
    answers = [
        create_git(client, workspace, headers=headers, url=REPOSITORY, credentials=given) for _ in range(2)
    ]
    source = Source.objects.get()
    path = address(workspace, f"/sources/{source.pk}")
    answers += [client.get(path), client.get(address(workspace, "/sources"))]

    assert answers[0].json()["config"] == {"url": REPOSITORY, "has_credentials": True}
    assert decrypt_credentials(source.sealed_credentials).password == SECRET
    stored = [source.config, source.sealed_credentials, *AuditEvent.objects.values_list("detail", flat=True)]
    stored += IdempotencyKey.objects.values_list("body", flat=True)
    for shown in (*(answer.content.decode() for answer in answers), json.dumps(stored), caplog.text):
        assert SECRET not in shown
    for answer in answers:
        assert source.sealed_credentials not in answer.content.decode()


def test_credentials_are_replaced_and_removed(client, workspace):
    made = create_git(client, workspace, url=REPOSITORY, credentials={"token": "first"}).json()
    path = address(workspace, f"/sources/{made['id']}")
    changed = client.patch(path, {"credentials": {"token": SECRET}}, format="json")
    assert (changed.status_code, changed.json()["config"]["has_credentials"]) == (200, True)
    assert decrypt_credentials(Source.objects.get().sealed_credentials).password == SECRET
    assert client.patch(path, {"title": "Else"}, format="json").json()["config"]["has_credentials"]

    taken = client.patch(path, {"credentials": None}, format="json").json()
    assert not taken["config"]["has_credentials"]
    assert Source.objects.get().sealed_credentials == ""
    details = list(AuditEvent.objects.filter(action="source.changed").values_list("detail", flat=True))
    assert {"fields": ["credentials"]} in details
    assert SECRET not in json.dumps(details)


def test_site_is_read_when_it_is_synced(client, workspace, site):
    site.pages["/"] = html("Home", "/a.html", "/b.html", "/c.html")
    site.pages["/c.html"] = html("Cherries", status=500)
    config = {"url": site.url(), "exclude": ["b.html"], "max_pages": 10}
    made = create(client, workspace, "web", config)
    assert made.status_code == 201, made.content
    assert made.json()["config"] == config
    response = client.post(address(workspace, f"/sources/{made.json()['id']}/sync"))
    assert run(workspace, response).state == "succeeded"

    job = client.get(response.headers["Location"]).json()
    validate("ingest_report.v1", job["report"])
    assert (job["report"]["new"], job["items_listed"]) == (2, 4)
    assert job["report"]["skipped_by_reason"] == {"excluded_page": 1}
    listed = client.get(address(workspace, "/documents?path_prefix=a")).json()["results"]
    document = client.get(address(workspace, f"/documents/{listed[0]['id']}")).json()
    assert document["metadata"]["url"] == site.url("/a.html")

    (item,) = client.get(response.headers["Location"] + "/items?state=failed").json()["results"]
    assert (item["path"], "500" in item["detail"]) == ("c.html", True)
    assert JobItem.objects.get(outcome="failed").reason == "unreadable"


def test_web_addresses_are_stored_normalised(client, workspace):
    config = {"url": "HTTPS://Docs.Example.org:443/a/../guide/#top", "whole_host": False, "include": []}
    made = create(client, workspace, "web", {**config, "max_depth": 0}).json()
    assert made["config"] == {"url": "https://docs.example.org/guide/", "max_depth": 0}
    Source.objects.all().delete()
    made = create(client, workspace, "web", {"sitemap": "https://example.org/map?page=2#x"}).json()
    assert made["config"] == {"sitemap": "https://example.org/map?page=2"}


def test_known_pages_of_another_workspace_are_not_used(client, workspace, other_workspace, site):
    fields = {"key": "site", "kind": "web", "config": {"url": site.url()}}
    theirs = Source.objects.create(workspace=other_workspace, **fields)
    page = {"key": "/", "url": site.url(), "path": "index.html", "etag": '"x"'}
    WebPage.objects.create(workspace=other_workspace, source=theirs, **page)
    made = create(client, workspace, "web", {"url": site.url()}).json()
    run(workspace, client.post(address(workspace, f"/sources/{made['id']}/sync")))
    assert not any("if-none-match" in asked.headers for asked in site.asked)
    assert WebPage.objects.in_workspace(workspace).count() == 3
    assert WebPage.objects.in_workspace(other_workspace).get().etag == '"x"'
