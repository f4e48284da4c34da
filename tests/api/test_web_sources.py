"""Web sources over HTTP."""

import pytest

from ingest.models import JobItem, WebPage
from search.models import Source
from tests.integration.ingest.jobs.site import html, serving
from tests.support.api import address, run
from tests.support.schemas import validate

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _reachable(settings):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.KEBAB_CRAWL_REQUESTS_PER_S = 10_000


@pytest.fixture
def site():
    with serving() as running:
        running.pages["/"] = html("Home", "/a.html", "/b.html")
        running.pages["/a.html"] = html("Apples")
        running.pages["/b.html"] = html("Bananas")
        yield running


def create(client, workspace, config, **body):
    said = {"key": "site", "kind": "web", "config": config, **body}
    return client.post(address(workspace, "/sources"), said, format="json")


def test_a_site_is_read_when_it_is_synced_and_its_documents_say_where_they_are(client, workspace, site):
    made = create(client, workspace, {"url": site.url(), "exclude": ["b.html"], "max_pages": 10})
    assert made.status_code == 201, made.content
    assert made.json()["config"] == {"url": site.url(), "exclude": ["b.html"], "max_pages": 10}
    response = client.post(address(workspace, f"/sources/{made.json()['id']}/sync"))
    assert run(workspace, response).state == "succeeded"

    job = client.get(response.headers["Location"]).json()
    validate("ingest_report.v1", job["report"])
    assert (job["report"]["new"], job["items_listed"]) == (2, 3)
    assert job["report"]["skipped_by_reason"] == {"excluded_page": 1}
    listed = client.get(address(workspace, "/documents?path_prefix=a")).json()["results"]
    document = client.get(address(workspace, f"/documents/{listed[0]['id']}")).json()
    assert document["metadata"]["url"] == site.url("/a.html")


def test_addresses_are_stored_in_their_one_form(client, workspace):
    config = {"url": "HTTPS://Docs.Example.org:443/a/../guide/#top", "whole_host": False, "include": []}
    assert create(client, workspace, config).json()["config"] == {"url": "https://docs.example.org/guide/"}


def test_a_sitemap_keeps_its_query(client, workspace):
    config = {"sitemap": "https://example.org/map?page=2#x"}
    assert create(client, workspace, config).json()["config"] == {"sitemap": "https://example.org/map?page=2"}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "Give url"),
        ({"max_pages": 5}, "Give url"),
        ({"url": "ftp://example.org/"}, "http or https"),
        ({"url": "example.org"}, "http or https"),
        ({"url": "https://user:secret@example.org/"}, "without name and password"),
        ({"url": "https://[::1"}, "http or https"),
        ({"url": "x" * 3_000}, "no more than 2000"),
        ({"url": "https://example.org/", "sitemap": "https://example.com/map.xml"}, "the same host"),
        ({"url": "https://example.org/", "include": [""]}, "blank"),
        ({"url": "https://example.org/", "exclude": ["[a"]}, "has no"),
        ({"url": "https://example.org/", "include": ["a"] * 101}, "100"),
        ({"url": "https://example.org/", "max_pages": 0}, "1"),
        ({"url": "https://example.org/", "max_pages": 10**9}, "20000"),
        ({"url": "https://example.org/", "max_depth": -1}, "0"),
        ({"url": "https://example.org/", "query_parameters": "lang"}, "list"),
        ({"url": "https://example.org/", "path": "/etc"}, "no such field"),
    ],
)
def test_a_wrong_config_is_refused_with_what_is_wrong(client, workspace, config, said):
    response = create(client, workspace, config)
    assert response.status_code == 400
    assert said in response.content.decode()
    assert response.json()["errors"][0]["field"].startswith("config")
    assert not Source.objects.exists()
    assert "secret" not in response.content.decode()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.2/", "http://localhost:8000/", "http://169.254.169.254/latest/", "http://[::1]/"]
)
def test_a_private_address_is_refused_unless_the_operator_allows_it(client, workspace, url):
    response = create(client, workspace, {"url": url})
    assert (response.status_code, response.json()["code"]) == (422, "address_not_allowed")
    assert "KEBAB_PRIVATE_HOSTS" in response.json()["detail"]


def test_a_failed_page_says_why_in_its_item(client, workspace, site):
    site.pages["/a.html"] = html("Apples", status=500)
    made = create(client, workspace, {"url": site.url()}).json()
    response = client.post(address(workspace, f"/sources/{made['id']}/sync"))
    run(workspace, response)
    items = client.get(response.headers["Location"] + "/items?state=failed").json()["results"]
    assert [(item["path"], item["detail"]) for item in items] == [("a.html", "The site answered 500.")]
    assert JobItem.objects.get(outcome="failed").reason == "unreadable"


def test_what_one_workspace_remembers_of_a_site_is_nothing_to_another(
    client, workspace, other_workspace, site
):
    theirs = Source.objects.create(
        workspace=other_workspace, key="site", kind="web", config={"url": site.url()}
    )
    WebPage.objects.create(
        workspace=other_workspace, source=theirs, key="/", url=site.url(), path="index.html", etag='"x"'
    )
    made = create(client, workspace, {"url": site.url()}).json()
    run(workspace, client.post(address(workspace, f"/sources/{made['id']}/sync")))
    assert not any("if-none-match" in asked.headers for asked in site.asked)
    assert WebPage.objects.in_workspace(workspace).count() == 3
    assert WebPage.objects.in_workspace(other_workspace).get().etag == '"x"'
