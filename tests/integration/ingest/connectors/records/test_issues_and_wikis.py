"""Issues of GitHub and GitLab, pages of GitLab and MediaWiki: their documents, changes and absence."""

import pytest

from search.models import Document
from search.pages.document.cited_range import CitedRange, source_link
from tests.integration.ingest.connectors.records.issue_hosts import github_host, gitlab_host
from tests.integration.ingest.connectors.records.wiki_host import wiki_host
from tests.support.jobs import counts, failure, indexed_texts, sync

ISSUE_HOSTS = {"github": github_host, "gitlab": gitlab_host}
UNCITED = CitedRange(start=None, end=None, chunk_id=None, first=None)


@pytest.fixture(params=ISSUE_HOSTS)
def forge(request):
    with ISSUE_HOSTS[request.param]() as running:
        yield running


@pytest.fixture
def gitlab_server():
    with gitlab_host() as running:
        yield running


@pytest.fixture
def wiki():
    with wiki_host() as running:
        yield running


@pytest.fixture
def relisting(set_limits):
    """Let every sync list everything."""
    set_limits(relist_after_s=0.0)


@pytest.fixture
def make_source(make_record_source):
    return lambda host, **config: make_record_source(host.kind, {**host.config, **config})


def paths(workspace):
    return set(Document.objects.in_workspace(workspace).values_list("path", flat=True))


def text_of(workspace, path):
    return "\n".join(indexed_texts(workspace)[path])


def test_issue_has_its_comments_author_date_labels_and_address(workspace, forge, make_source):
    forge.put("Häfen im Winter", "Ice in the harbour")
    sync(make_source(forge))
    document = Document.objects.get()
    assert (document.path, document.title, document.author.lower()) == (
        "issues/1.md",
        "Häfen im Winter",
        "ada",
    )
    assert document.dated_at == forge.now
    assert document.metadata["url"] == source_link(document, UNCITED)
    assert document.metadata["url"].endswith("/issues/1")
    found = {name: document.metadata[name] for name in ("labels", "assignees", "milestone")}
    assert found == {"labels": ["harbour"], "assignees": ["bob"], "milestone": "v1"}
    assert "Ice in the harbour" in text_of(workspace, "issues/1.md")


def test_renamed_label_is_read_by_the_next_whole_listing(forge, make_source, relisting):
    forge.put("tides", "About tides")
    source = make_source(forge)
    sync(source)
    forge.issues["tides"].more["labels"] = ["sea"]
    assert counts(sync(source))["updated"] == 1
    assert Document.objects.get().metadata["labels"] == ["sea"]


def test_sync_lists_recent_changes_and_everything_once_a_day(workspace, forge, make_source, set_limits):
    for name in ("tides", "boats", "fish"):
        forge.put(name, f"About {name}")
    source = make_source(forge)
    sync(source)
    forge.requested.clear()
    forge.delete("boats")
    forge.put("fish", "About herrings")
    assert counts(sync(source)) == {"seen": 1, "updated": 1, "parser_calls": 1}
    assert any(f"{forge.since}=" in each for each in forge.requested)
    assert paths(workspace) == {"issues/1.md", "issues/2.md", "issues/3.md"}
    set_limits(relist_after_s=0.0)
    assert counts(sync(source))["deleted"] == 1
    assert paths(workspace) == {"issues/1.md", "issues/3.md"}


def test_listing_that_breaks_off_deletes_nothing(workspace, forge, make_source, relisting, set_limits):
    set_limits(page_items=5)
    for number in range(12):
        forge.put_directly(f"note {number}", f"About {number}")
    source = make_source(forge)
    assert counts(sync(source))["new"] == 12
    forge.delete("note 1")
    before = [None] * (2 if forge.kind == "gitlab" else 1)
    for refusal in ("401 Unauthorized", "404 Not Found", "200 OK"):
        forge.refusals = [*before, (refusal, {})]
        assert "nothing was deleted" in failure(source)
        assert len(paths(workspace)) == 12
    assert counts(sync(source))["deleted"] == 1
    assert len(paths(workspace)) == 11


@pytest.mark.parametrize("includes_since", [True, False])
def test_every_issue_is_listed_once(workspace, forge, make_source, set_limits, includes_since):
    set_limits(page_items=3)
    forge.includes_since = includes_since
    for number in range(15):
        forge.tick() if number in (4, 5, 6, 13) else None
        forge.put_directly(f"note {number}", f"About {number}")
    source = make_source(forge)
    assert counts(sync(source)) == {"seen": 15, "new": 15, "parser_calls": 15}
    forge.put("note 3", "About it")
    assert counts(sync(source))["updated"] == 1


def test_short_retry_after_is_waited_for_and_a_long_one_fails_the_sync(workspace, forge, make_source):
    forge.put("tides", "About tides")
    source = make_source(forge)
    forge.refusals = [("429 Too Many Requests", {"Retry-After": "0"})]
    assert counts(sync(source))["new"] == 1
    forge.put("boats", "About boats")
    forge.requested.clear()
    forge.refusals = [("403 Forbidden", {"Retry-After": "1500"})]
    assert "sync again in 25 minutes" in failure(source)
    assert len(forge.requested) == 1
    assert counts(sync(source))["new"] == 1


def test_server_that_ignores_the_time_of_change_is_refused(forge, make_source):
    for name in ("tides", "boats", "fish"):
        forge.put(name, f"About {name}")
    source = make_source(forge)
    sync(source)
    forge.since = "other"
    assert "time of their last change" in failure(source)


def test_pull_requests_are_read_if_wanted(workspace, make_record_source):
    with github_host() as host:
        host.put("tides", "About tides")
        host.put("boats", "About boats")
        host.issues["boats"].more["pull_request"] = {}
        sync(make_record_source("github", host.config))
        assert paths(workspace) == {"issues/1.md"}
        sync(make_record_source("github", {**host.config, "pull_requests": True}, key="all"))
        assert paths(workspace) == {"issues/1.md", "pulls/2.md"}


def test_pull_requests_that_are_not_read_count_as_listed(workspace, make_record_source, set_limits):
    set_limits(page_items=1, spare_bytes=3_000, bytes_per_document=10_000, bytes_per_request=0)
    with github_host() as host:
        for number in range(9):
            host.tick()
            host.put_directly(f"note {number}", "About it")
            host.issues[f"note {number}"].more["pull_request"] = {}
        host.tick()
        host.put("tides", "About tides")
        sync(make_record_source("github", host.config))
    assert paths(workspace) == {"issues/10.md"}


def test_confidential_issues_and_internal_notes_stay_out(workspace, gitlab_server, make_source):
    gitlab_server.put("tides", "About tides")
    gitlab_server.put("boats", "About boats")
    gitlab_server.issues["boats"].more["confidential"] = True
    source = make_source(gitlab_server)
    sync(source)
    assert paths(workspace) == {"issues/1.md"}
    assert "About tides" in text_of(workspace, "issues/1.md")
    assert "internal" not in text_of(workspace, "issues/1.md")
    gitlab_server.put("tides", "About secret tides")
    gitlab_server.issues["tides"].more["confidential"] = True
    assert counts(sync(source)) == {"deleted": 1}


def test_wiki_pages_of_a_project_are_read_and_followed(workspace, gitlab_server, make_source, relisting):
    gitlab_server.wiki = {"home": "# Home\n\nThe sea", "port/Kräne": "About cranes"}
    source = make_source(gitlab_server)
    sync(source)
    assert paths(workspace) == {"wiki/home.md", "wiki/port/Kräne.md"}
    page = Document.objects.get(path="wiki/port/Kräne.md")
    assert source_link(page, UNCITED) == (f"{gitlab_server.url}/sea/harbour/notes/-/wikis/port/Kr%C3%A4ne")
    gitlab_server.wiki = {"home": "# Home\n\nThe ocean"}
    assert counts(sync(source)) == {"seen": 1, "updated": 1, "deleted": 1, "parser_calls": 1}


def test_unreadable_wiki_is_a_warning_and_deletes_nothing(workspace, gitlab_server, make_source, relisting):
    gitlab_server.wiki = {"home": "The sea"}
    gitlab_server.put("tides", "About tides")
    source = make_source(gitlab_server)
    sync(source)
    gitlab_server.wiki_status = "403 Forbidden"
    assert sync(source)["warnings"] == ["The wiki may not be read (403)."]
    assert paths(workspace) == {"wiki/home.md", "issues/1.md"}
    gitlab_server.project = {"wiki_access_level": "disabled"}
    assert counts(sync(source))["deleted"] == 1
    assert paths(workspace) == {"issues/1.md"}


def test_page_of_a_wiki_has_its_title_author_date_and_address(workspace, wiki, make_source):
    wiki.put("Häfen & Boote", "About <b>harbours</b>")
    sync(make_source(wiki))
    document = Document.objects.get()
    assert (document.title, document.author, document.dated_at) == ("Häfen & Boote", "Ada", wiki.now)
    assert source_link(document, UNCITED) == f"{wiki.url}/wiki/1"
    assert "About harbours" in text_of(workspace, "pages/1.html")


def test_namespaces_are_chosen_and_redirects_left_out(workspace, wiki, make_record_source):
    wiki.put("Tides", "About tides")
    wiki.put("Help:Tides", "How to add tides", namespace=12)
    wiki.put("Tide", "See tides")
    wiki.pages["Tide"].is_redirect = True
    source = make_record_source("mediawiki", wiki.config)
    sync(source)
    assert paths(workspace) == {"pages/1.html"}
    sync(make_record_source("mediawiki", {**wiki.config, "namespaces": ["0", "12"]}, key="all"))
    assert paths(workspace) == {"pages/1.html", "pages/2.html"}
    wiki.put("Tides", "See the sea")
    wiki.pages["Tides"].is_redirect = True
    assert counts(sync(source)) == {"deleted": 1}


def test_wiki_lists_all_pages_only_when_its_change_log_is_too_short(workspace, wiki, make_source):
    for name in ("Tides", "Boats", "Fish"):
        wiki.put(name, f"About {name}")
    source = make_source(wiki)
    sync(source)
    wiki.requested.clear()
    wiki.put("Fish", "About herrings")
    wiki.delete("Boats")
    assert counts(sync(source))["deleted"] == 1
    assert not any("allpages" in each for each in wiki.requested)
    wiki.requested.clear()
    wiki.changes, wiki.deletions = [(wiki.tick(), 3)], []
    wiki.delete("Fish")
    wiki.deletions.clear()
    assert counts(sync(source))["deleted"] == 1
    assert any("allpages" in each for each in wiki.requested)
    assert paths(workspace) == {"pages/1.html"}


def test_list_of_pages_without_an_end_deletes_nothing(workspace, wiki, make_source, relisting):
    for name in ("Tides", "Boats"):
        wiki.put(name, f"About {name}")
    source = make_source(wiki)
    sync(source)
    wiki.breaks_off = True
    assert "broke off" in failure(source)
    wiki.pages.clear()
    assert "broke off" in failure(source)
    assert len(paths(workspace)) == 2


def test_wiki_page_that_vanishes_after_the_listing_is_left_out(workspace, wiki, make_source, monkeypatch):
    wiki.put("Tides", "About tides")
    wiki.put("Boats", "About boats")
    found = wiki._find
    monkeypatch.setattr(wiki, "_find", lambda page_id: None if page_id == 2 else found(page_id))
    report = sync(make_source(wiki))
    assert (report["new"], report["failed"]) == (1, 0)
