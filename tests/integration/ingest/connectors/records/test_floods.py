"""Limits of what a mailbox, a feed or a forge may send, as its reader meets them."""

from contextlib import closing

import pytest

from ingest.connectors.errors import ListingFailed, SourceAway
from ingest.connectors.records import feed, mailbox
from ingest.connectors.records.feed import FeedReader
from ingest.connectors.records.github import GithubReader
from ingest.connectors.records.mailbox import MailboxReader
from ingest.connectors.records.mediawiki import MediawikiReader
from ingest.connectors.records.webdav import WebdavReader
from tests.integration.ingest.connectors.hostile_targets import hostile_target
from tests.integration.ingest.connectors.records.hosts import feed_host
from tests.support.readers import reader_settings


@pytest.fixture
def list_hostile(tmp_path):
    """Return a function that lists a hostile source in this process."""

    def list_all(reader, kind, hostility, **limits):
        with (
            hostile_target(kind, hostility, tmp_path) as target,
            closing(reader(reader_settings(target.config, **limits))) as opened,
        ):
            return list(opened.records(""))

    return list_all


@pytest.mark.parametrize("place", ["greeting", "login", "list"])
@pytest.mark.parametrize(
    ("harm", "error", "reason"),
    [
        ("flood", ListingFailed, "more than 50 lines"),
        ("long-line", ListingFailed, "a line of more than"),
        ("many-literals", ListingFailed, "bytes"),
        ("hang-up", SourceAway, "does not answer any more"),
        ("garbage", ListingFailed, "bytes"),
    ],
)
def test_flooding_mailbox_fails_the_listing(list_hostile, monkeypatch, harm, place, error, reason):
    monkeypatch.setattr(mailbox, "_MAX_LINES", 50)
    with pytest.raises(error, match=r"127\.0\.0\.1") as refused:
        list_hostile(MailboxReader, "imap", f"{harm}-at-{place}", budget_bytes=5_000_000)
    assert reason in str(refused.value) or harm in ("garbage", "many-literals")


def test_mail_that_is_longer_than_it_may_be_is_not_read(tmp_path):
    with (
        hostile_target("imap", "huge-literal-at-list", tmp_path) as target,
        closing(MailboxReader(reader_settings(target.config))) as reader,
        pytest.raises(OSError, match="announces 4,000,000,000 bytes; 1,000 are read"),
    ):
        reader.fetch("a.eml", '["INBOX", 1]', 1_000)


def test_mailbox_with_endless_message_numbers_fails_the_listing(list_hostile):
    with pytest.raises(ListingFailed, match=r"127\.0\.0\.1 sends more"):
        list_hostile(MailboxReader, "imap", "endless-numbers", budget_bytes=100_000)


def test_slow_imap_command_times_out(list_hostile):
    with pytest.raises(SourceAway, match=r"127\.0\.0\.1"):
        list_hostile(MailboxReader, "imap", "slow-lines-at-list", request_s=0.02)


def test_feed_of_too_many_entries_is_refused(monkeypatch):
    monkeypatch.setattr(feed, "_MAX_ENTRIES", 2)
    with feed_host() as host, closing(FeedReader(reader_settings(host.config))) as reader:
        for number in range(2):
            host.put(f"note {number}", "About it")
        assert len(list(reader.records(""))) == 3
        host.put("note 2", "About it")
        with pytest.raises(ListingFailed, match=r"127\.0\.0\.1 answers a feed of more than 2 entries"):
            list(reader.records(""))


@pytest.mark.parametrize(
    ("reader", "kind"), [(GithubReader, "github"), (MediawikiReader, "mediawiki"), (WebdavReader, "webdav")]
)
@pytest.mark.parametrize("hostility", ["deep", "endless-body", "huge"])
def test_answer_that_is_too_deep_or_long_is_refused(list_hostile, reader, kind, hostility):
    with pytest.raises(ListingFailed, match=r"127\.0\.0\.1"):
        list_hostile(reader, kind, hostility, answer_bytes=1_500_000)


@pytest.mark.parametrize(("reader", "kind"), [(MediawikiReader, "mediawiki"), (WebdavReader, "webdav")])
def test_endless_listing_fails_at_its_byte_limit(list_hostile, reader, kind):
    with pytest.raises(ListingFailed, match=r"127\.0\.0\.1 sends more than the 100,000 bytes"):
        list_hostile(reader, kind, "endless-pages", budget_bytes=100_000)


def test_byte_limit_counts_the_decompressed_answer(list_hostile):
    with pytest.raises(ListingFailed, match="sends more than the 1,000,000 bytes"):
        list_hostile(GithubReader, "github", "packed-crumbs", budget_bytes=1_000_000)


def test_permission_for_an_address_does_not_cover_another_host_name(tmp_path):
    with hostile_target("webdav", "hang-up", tmp_path) as target:
        config = {"url": target.config["url"].replace("127.0.0.1", "localhost")}
        with (
            closing(WebdavReader(reader_settings(config))) as reader,
            pytest.raises(SourceAway, match="localhost"),
        ):
            list(reader.records(""))
        assert not target.server.requested
