"""How much a job reads of what is known, where it needs a little of it."""

from collections import Counter

import pytest

from ingest.connectors.web.memory import PageMemory
from ingest.jobs import items, quarantine, sync_source
from ingest.models import Unreadable
from search.corpus import ensure_source, ensure_version
from tests.support.api import quarantine as set_aside
from tests.support.jobs import counts, fill, sync, upload, work


@pytest.fixture
def noted(monkeypatch):
    """Give a function that has the calls of another counted, by what each gives."""
    given = Counter()

    def note(owner, name, size=lambda result: 1):
        call = getattr(owner, name)

        def counting(*arguments, **named):
            result = call(*arguments, **named)
            given[name] += size(result)
            return result

        monkeypatch.setattr(owner, name, counting)
        return given

    return note


def test_a_retry_of_one_file_looks_at_what_is_known_of_that_one(folder, source, noted):
    fill(folder, {f"{name}.md": f"# {name}\n" for name in "abcd"})
    sync(source)
    (folder / "b.md").unlink()
    given = noted(sync_source, "Known")
    assert counts(sync(source, only_paths=["a.md", "b.md"])) == {"seen": 1, "unchanged": 1, "deleted": 1}
    assert given["Known"] == 2


def test_an_upload_looks_at_its_own_place_in_the_quarantine(workspace, noted):
    version = ensure_version(ensure_source(workspace, "uploads", kind="upload"), "")
    for number in range(4):
        set_aside(workspace, version, f"{number}.md", f"bomb {number}".encode())
    given = noted(quarantine, "_known_reasons", size=len)
    assert work(upload(workspace, "a.md", b"# A\n")).counts["new"] == 1
    assert given["_known_reasons"] == 0
    work(upload(workspace, "b.md", b"bomb 2"))
    assert given["_known_reasons"] == 1
    assert Unreadable.objects.get(path="b.md").is_quarantined


def test_whether_a_file_stands_is_found_out_once(folder, source, noted):
    files = {f"{name}.md": f"# {name}\n" for name in "abcd"}
    fill(folder, files)
    sync(source)
    fill(folder, files)  # under a later time
    given = noted(items, "is_current")
    assert counts(sync(source)) == {"seen": 4, "unchanged": 4}
    assert given["is_current"] == 4


def test_a_page_is_looked_for_once_before_it_is_asked_for(site_source, reachable_sites, noted):
    given = noted(PageMemory, "find")
    assert sync(site_source())["new"] == 4
    assert given["find"] == 4
