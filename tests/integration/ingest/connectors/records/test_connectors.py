"""Each connector against a real server: first sync, changes, deletions, outages, wrong credentials."""

import imaplib
from contextlib import closing

import pytest
from imapclient.exceptions import IMAPClientError

from ingest.connectors.errors import ContentArchived, SourceAway
from ingest.connectors.records import mailbox
from ingest.connectors.records.s3 import BucketReader
from ingest.connectors.records.wire import DocumentRecord
from ingest.errors import ConnectionFailed
from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from ingest.services.connection_probe import probe_connection
from kebab.identity.caller import Caller, caller_access
from kebab.identity.models import Role
from search.models import Document
from tests.integration.ingest.connectors.records.hosts import ATOM, HOSTS, RSS, feed_host, webdav_host
from tests.support.actors import make_member
from tests.support.jobs import counts, failure, indexed_texts, sync, work
from tests.support.readers import reader_settings

NOTES = {"tides": "About tides", "boats at sea": "About boats", "häfen": "About harbours"}


# Sources of single documents, which notice that one is deleted.
LISTING_HOSTS = ["s3", "webdav", "imap", "mediawiki", "github", "gitlab"]
# Of these only a whole listing shows deletions.
UNLISTED = ["github", "gitlab"]
listing_hosts = pytest.mark.parametrize("host", LISTING_HOSTS, indirect=True)


@pytest.fixture(params=HOSTS)
def host(request):
    with HOSTS[request.param]() as running:
        for name, text in NOTES.items():
            running.put(name, text)
        yield running


@pytest.fixture
def connected(host, make_record_source):
    return make_record_source(host.kind, host.config)


def texts(workspace):
    return {path: "\n".join(chunks) for path, chunks in indexed_texts(workspace).items()}


def test_first_sync_reads_everything_and_the_second_fetches_nothing(workspace, host, connected):
    assert counts(sync(connected))["new"] == 3
    found = texts(workspace)
    assert len(found) == 3
    assert all(any(text in each for each in found.values()) for text in NOTES.values())
    host.fetched.clear()
    assert counts(sync(connected)).get("new") is None
    assert host.fetched == []
    assert texts(workspace) == found


@listing_hosts
def test_changed_and_deleted_documents_follow(workspace, host, connected, set_limits):
    set_limits(relist_after_s=0.0 if host.kind in UNLISTED else 86_400.0)
    sync(connected)
    host.fetched.clear()
    host.put("tides", "About ebb and flow")
    host.delete("boats at sea")
    report = counts(sync(connected))
    assert report.get("new", 0) + report.get("updated", 0) == 1
    assert report["deleted"] >= 1
    found = texts(workspace)
    assert len(found) == 2
    assert any("ebb and flow" in text for text in found.values())
    assert not any("boats" in text for text in found.values())
    assert len(host.fetched) <= 1


@listing_hosts
def test_sync_interrupted_by_the_server_keeps_documents_and_resumes(workspace, host, connected):
    host.fetches_left = 2
    job = work(request_sync(connected))
    assert (job.state, "127.0.0.1" in job.error) == ("failed", True)
    assert counts(ingest_report(job)) == {"seen": 2, "new": 2, "parser_calls": 2}
    assert len(texts(workspace)) == 2
    host.fetches_left = None
    host.fetched.clear()
    sync(connected)
    assert len(host.fetched) == 1
    assert len(texts(workspace)) == 3


@pytest.mark.parametrize("host", ["s3"], indirect=True)
def test_objects_in_an_archive_are_skipped_each_time(workspace, host, connected):
    host.client.put_object(
        Bucket="docs", Key="team notes/old.md", Body=b"About old", StorageClass="DEEP_ARCHIVE"
    )
    for _ in range(2):
        assert sync(connected)["skipped_by_reason"] == {"archived": 1}
    assert len(texts(workspace)) == len(host.fetched) == 3
    with (
        closing(BucketReader(reader_settings(host.config))) as reader,
        pytest.raises(ContentArchived),
    ):
        reader.fetch("old.md", "team notes/old.md", 1_000)


@listing_hosts
def test_document_paths_equal_the_paths_of_the_source(workspace, host, connected):
    sync(connected)
    assert texts(workspace).keys() == {host.path(name) for name in NOTES}


def test_wrong_credentials_are_reported_and_change_nothing(workspace, host, connected, make_record_source):
    sync(connected)
    before = texts(workspace)
    connected.sealed_credentials = make_record_source(
        host.kind, host.wrong_config, key="other"
    ).sealed_credentials
    connected.save()
    assert "wrong user name" in failure(connected)
    assert texts(workspace) == before


@pytest.mark.parametrize("status", ["500 Internal Server Error", "503 Service Unavailable"])
def test_server_errors_for_single_documents_do_not_stop_the_sync(workspace, make_record_source, status):
    with webdav_host() as host:
        for number in range(6):
            host.put(f"note {number}", f"About {number}")
        source = make_record_source("webdav", host.config)
        host.broken = {f"/dav/Team notes/about note {number}/note {number}.md" for number in range(4)}
        host.broken_status = status
        report = sync(source)
        assert (report["new"], report["failed_by_reason"]) == (2, {"unreadable": 4})
        host.broken = set()
        assert counts(sync(source)) == {"seen": 6, "new": 4, "unchanged": 2, "parser_calls": 4}


def test_consecutive_server_errors_fail_the_sync(workspace, make_record_source, set_limits):
    set_limits(broken_in_a_row=2)
    with webdav_host() as host:
        for number in range(6):
            host.put(f"note {number}", f"About {number}")
        host.broken = {f"/dav/Team notes/about note {number}/note {number}.md" for number in range(4)}
        assert "answers 500" in failure(make_record_source("webdav", host.config))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (IMAPClientError("fetch failed: NO it can't be converted"), "can't be converted"),
        (imaplib.IMAP4.abort("socket error: EOF"), "does not answer any more"),
    ],
    ids=["refused", "hung-up"],
)
@pytest.mark.parametrize("host", ["imap"], indirect=True)
def test_server_error_for_one_mail_does_not_stop_the_sync(host, monkeypatch, error, reason):
    fetch = mailbox._Client.fetch

    def fail_at_one(client, messages, data):
        if (
            b"BODY.PEEK[]" in data
            and b"boats" in fetch(client, messages, [b"ENVELOPE"])[messages[0]][b"ENVELOPE"].subject
        ):
            raise error
        return fetch(client, messages, data)

    monkeypatch.setattr(mailbox._Client, "fetch", fail_at_one)
    assert [isinstance(each, OSError) for each in read_mails(host)] == [False, True, False]
    [away] = [each for each in read_mails(host, broken_in_a_row=1) if isinstance(each, SourceAway)]
    assert reason in str(away)


def read_mails(host, **limits):
    """Return the bytes of each mail, or the error in their place, read in this process."""
    found = []
    with closing(mailbox.MailboxReader(reader_settings(host.config, **limits))) as reader:
        listed = [each for each in reader.records("") if isinstance(each, DocumentRecord)]
        for each in listed:
            try:
                found.append(reader.fetch(each.path, each.locator, 1_000_000))
            except (OSError, SourceAway) as error:
                found.append(error)
    return found


def test_connection_is_tested_before_the_source_is_added(workspace, host):
    access = caller_access(Caller(user=make_member(workspace, Role.EDITOR)), workspace.slug)
    assert "first document is" in probe_connection(access, host.kind, host.config)
    with pytest.raises(ConnectionFailed, match="wrong user name"):
        probe_connection(access, host.kind, host.wrong_config)
    assert host.fetched == [] or host.kind == "feed"


@pytest.mark.parametrize(
    ("host", "changed", "message"),
    [
        ("imap", {"password": "s3crét"}, "wrong user name"),
        ("webdav", {"password": "s3crét"}, "wrong user name"),
        ("github", {"token": "ghp\u200b"}, "can't be sent"),
        ("s3", {"access_key_id": "A\u00a0"}, "can't be sent"),
    ],
    indirect=["host"],
)
def test_credentials_that_are_not_ascii_are_sent_or_refused(workspace, host, changed, message):
    access = caller_access(Caller(user=make_member(workspace, Role.EDITOR)), workspace.slug)
    config = {**host.config, "credentials": {**host.config["credentials"], **changed}}
    with pytest.raises(ConnectionFailed, match=message):
        probe_connection(access, host.kind, config)


@pytest.mark.parametrize("template", [RSS, ATOM], ids=["rss", "atom"])
def test_feed_entries_are_read_with_metadata_and_kept_when_they_leave_the_feed(
    workspace, make_record_source, template
):
    with feed_host() as host:
        host.template = template
        host.put("tides", "<p>About <b>tides</b></p>")
        host.put("boats", "<p>About boats</p>")
        source = make_record_source("feed", host.config)
        sync(source)
        document = Document.objects.get(path__startswith="tides-")
        assert (document.title, document.author) == ("tides & more", "Ada")
        assert (document.dated_at.date().isoformat(), document.metadata["url"]) == (
            "2024-05-06",
            "https://example.org/tides",
        )
        assert "About tides" in texts(workspace)[document.path]
        host.delete("boats")
        host.put("tides", "<p>About ebb</p>")
        assert counts(sync(source)) == {"seen": 1, "updated": 1, "parser_calls": 1}
        assert len(texts(workspace)) == 2


def test_document_without_a_valid_feed_is_refused(make_record_source):
    with feed_host() as host:
        host.template = ("/etc/passwd", "", "")
        source = make_record_source("feed", host.config)
        assert "with an RSS or Atom feed" in failure(source)
        host.template = (
            "<rss version='2.0'><channel><item><guid>&#xD800;</guid></item></channel></rss>",
            "",
            "",
        )
        assert "damaged feed" in failure(source)


def test_listing_of_too_many_bytes_fails(make_record_source, set_limits):
    set_limits(answer_bytes=100)
    with feed_host() as host:
        host.put("tides", "About tides")
        assert "127.0.0.1" in failure(make_record_source("feed", host.config))
