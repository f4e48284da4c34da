from pathlib import Path
from types import SimpleNamespace

from kebab.health import scrape
from kebab.observability.metrics.exposition import Page
from kebab.stack.storage.blob_storage import blob_storage


def test_free_bytes_of_blobs_are_measured_on_their_own_disk(settings, tmp_path, monkeypatch):
    disks = {}

    def usage(folder):  # each folder is a disk of its own
        return SimpleNamespace(free=disks.setdefault(str(folder), 1_000 + len(disks)))

    def text_for(url):
        settings.STORAGES = {**settings.STORAGES, "default": blob_storage(url, Path("unused"))}
        page = Page()
        scrape._write_disks(page)
        return page.text().decode()

    monkeypatch.setattr(scrape, "shutil", SimpleNamespace(disk_usage=usage))
    text = text_for(f"file://{tmp_path}")
    assert f'folder="blobs"}} {disks[str(tmp_path)]}' in text
    of_a_bucket = text_for("s3://shelf")
    assert 'folder="data"' in of_a_bucket
    assert 'folder="blobs"' not in of_a_bucket
