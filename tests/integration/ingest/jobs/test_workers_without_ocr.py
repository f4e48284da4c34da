"""Workers with and without OCR read one source: what one has read, the other leaves alone."""

import pytest

from ingest.parsers import registry
from ingest.parsers.registry import WITH_OCR, parser_version_for
from search.models import Document
from tests.support.jobs import counts, fill, indexed, sync
from tests.unit.ingest.real_files import content_of

READ = {
    "notice.png": content_of("image/notice.png"),
    "picture": content_of("image/notice.jpg"),
    "scanned.pdf": content_of("pdf/scanned.pdf"),
}


@pytest.fixture
def read_with_ocr(folder, source):
    fill(folder, READ)
    assert counts(sync(source)) == {"seen": 3, "new": 3, "parser_calls": 3}


def test_what_ocr_has_read_stands_on_a_worker_without_it(
    workspace, folder, source, read_with_ocr, monkeypatch
):
    before = indexed(workspace)
    monkeypatch.setattr(registry, "HAS_OCR", False)

    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    fill(folder, READ)  # listed with another time, so that their bytes are looked at
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    assert counts(sync(source, version="v1")) == {"seen": 3, "new": 3}
    assert indexed(workspace) == before


def test_what_was_read_without_ocr_is_read_again_by_a_worker_with_it(workspace, source, read_with_ocr):
    without_ocr = parser_version_for("scanned.pdf").removesuffix(WITH_OCR)
    Document.objects.in_workspace(workspace).filter(path="scanned.pdf").update(parser_version=without_ocr)

    assert counts(sync(source)) == {"seen": 3, "updated": 1, "unchanged": 2, "parser_calls": 1}
