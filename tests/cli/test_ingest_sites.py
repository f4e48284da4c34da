"""What `kebab ingest URL` makes of a site's address."""

from argparse import ArgumentTypeError

import pytest

from ingest.cli.sites import SiteTarget, is_site_address
from ingest.cli.targets import IngestRequest, request_ingest, target
from ingest.models import JobKind
from kebab.people.models import AuditEvent
from search.models import Source
from tests.support.corpus import make_workspace


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("https://Docs.example.org/guide", {"url": "https://docs.example.org/guide"}),
        ("http://example.org", {"url": "http://example.org/"}),
        ("https://example.org/sitemap.xml", {"sitemap": "https://example.org/sitemap.xml"}),
        ("https://example.org/map.xml.gz?x=1", {"sitemap": "https://example.org/map.xml.gz?x=1"}),
    ],
)
def test_an_address_is_a_page_or_a_sitemap(text, config):
    assert target(text) == SiteTarget(config=config)


@pytest.mark.parametrize(
    "text", ["https://github.com/owner/repo.git", "ssh://git@host/repo", "/srv/docs", "a://b"]
)
def test_repositories_and_folders_are_no_sites(text):
    assert not is_site_address(text)


@pytest.mark.parametrize("text", ["https://", "http://user:secret@example.org/", "http://169.254.169.254/"])
def test_what_cannot_be_read_is_refused_in_words(text):
    with pytest.raises(ArgumentTypeError, match=r"address"):
        target(text)


def test_a_site_becomes_a_source_that_the_same_command_syncs_again(db):
    workspace = make_workspace()
    asked = IngestRequest(path=target("https://docs.example.org/guide/"), tags=("a",))
    jobs = [request_ingest(workspace, asked) for _ in range(2)]
    source = Source.objects.get()

    assert (source.key, source.kind) == ("docs-example-org-guide", "web")
    assert (source.config, source.default_tags) == ({"url": "https://docs.example.org/guide/"}, ["a"])
    assert (jobs[0].kind, jobs[0].source) == (JobKind.SYNC_SOURCE, source)
    assert AuditEvent.objects.filter(action="source.created").count() == 1
    assert source.library_id.startswith("/local/")
