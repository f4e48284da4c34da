from pathlib import Path
from types import SimpleNamespace

import pytest

from kebab.health import scraping
from kebab.metrics.exposition import Page
from kebab.stack.blob_storage import blob_storage


@pytest.fixture
def free(monkeypatch):
    """Return what writes the metrics of all folders, where each is a disk of its own."""
    disks = {}

    def usage(folder):
        return SimpleNamespace(free=disks.setdefault(str(folder), 1_000 + len(disks)))

    def told():
        page = Page()
        monkeypatch.setattr(scraping, "shutil", SimpleNamespace(disk_usage=usage))
        scraping._write_disks(page)
        return page.text().decode(), disks

    return told


def test_free_bytes_of_blobs_are_those_of_their_own_disk(free, settings, tmp_path):
    settings.STORAGES = {**settings.STORAGES, "default": blob_storage(f"file://{tmp_path}", Path("unused"))}
    text, disks = free()
    assert f'kebab_disk_free_bytes{{folder="blobs"}} {disks[str(tmp_path)]}' in text


def test_bucket_has_no_disk(free, settings):
    settings.STORAGES = {**settings.STORAGES, "default": blob_storage("s3://shelf", Path("unused"))}
    text, _ = free()
    assert 'folder="data"' in text
    assert 'folder="blobs"' not in text
