"""Many items of each connector: first sync, one changed and one deleted, in bounded memory."""

import resource

import pytest

from search.models import Document
from tests.integration.ingest.connectors.records.hosts import HOSTS
from tests.integration.ingest.connectors.records.test_connectors import UNLISTED
from tests.support.jobs import counts, drop_embedding_jobs, sync

pytestmark = pytest.mark.slow

ITEMS = 10_000
MEMORY_KB = 400_000


@pytest.mark.parametrize("kind", HOSTS)
def test_many_items_are_synced_in_bounded_memory(workspace, make_record_source, kind, set_limits):
    set_limits(relist_after_s=0.0 if kind in UNLISTED else 86_400.0)
    with HOSTS[kind]() as host:
        fill(host, {f"note-{number}": f"About the item {number}" for number in range(ITEMS)})
        source = make_record_source(host.kind, host.config)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert counts(sync(source))["new"] == ITEMS
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KB
        drop_embedding_jobs()
        host.fetched.clear()
        host.put("note-7", "About another item")
        host.delete("note-8")
        report = counts(sync(source))
        assert report.get("new", 0) + report.get("updated", 0) == 1
        assert len(host.fetched) <= 1
        stays = kind == "feed"  # entries stay when the feed drops them
        assert Document.objects.in_workspace(workspace).count() == ITEMS - (not stays)


def fill(host, notes):
    """Add notes by the fastest way that the host has."""
    if hasattr(host, "put_many"):
        host.put_many(notes)
        return
    put = getattr(host, "put_directly", host.put)
    for name, text in notes.items():
        put(name, text)
