"""Pictures of text in several formats, through the limited process and OCR."""

import struct
import zlib
from itertools import pairwise

import psutil
import pytest

from ingest.parsers.errors import ParseRefused
from ingest.parsers.images import image
from ingest.parsers.images.ocr import PictureLine, _bands, paragraph_starts
from ingest.parsers.registry import parse
from ingest.parsers.types import LineSpan, RegionSpan
from search.retrieval.citation import parse_uri
from tests.support.samples import citation_of, content_of, digest_sample

NOTICE = "image/notice.png"
#: where the browser that made the picture drew the three lines: left, top, right, bottom
TEXT_BOX = (40, 40, 545, 240)
SLACK = 12


def empty_png(width, height):
    """Return a PNG of this declared size without pixels."""

    def chunk(name, content):
        check = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b""))


def check_notice(digester, kind):
    path = f"image/notice.{kind}"
    digest = digest_sample(digester, path)
    assert (digest.title, digest.media, digest.lang) == ("Notice to all keepers", "image", "en")
    assert (digest.metadata["width"], digest.metadata["height"]) == (900, 360)
    cited = parse_uri(citation_of(digest, path, "The ferry leaves the pier at 18:45 sharp."))
    box = (cited.x, cited.y, cited.x + cited.w, cited.y + cited.h)
    assert all(abs(found - drawn) <= SLACK for found, drawn in zip(box, TEXT_BOX, strict=True)), box
    return digest


def test_text_in_a_picture_is_cited_by_its_region(shared_digester):
    check_notice(shared_digester, "png")
    # Nothing is fetched to recognise text.
    assert psutil.Process(shared_digester.child_pid).net_connections() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jpg", "webp", "gif", "tiff"])
def test_other_formats_are_read(shared_digester, kind):
    digest = check_notice(shared_digester, kind)
    second = {"beyond_limit": {"amount": 1, "where": ["pictures"]}}
    assert digest.omissions == (second if kind == "gif" else {})


@pytest.mark.slow
def test_text_far_below_has_a_region_of_its_own_and_memory_stays_bounded(shared_digester):
    digest = digest_sample(shared_digester, "image/high.png")
    first, last = digest.chunks
    lines = (first.text.splitlines()[-1], last.text)
    assert lines == ("Dogs travel free of charge.", "Notice to all keepers")
    assert last.spans[0]["y"] > 2_200
    assert last.spans[0]["h"] < 80
    assert psutil.Process(shared_digester.child_pid).memory_info().rss < 500 * 1024**2


def test_unusable_pictures_are_refused(subtests):
    # The claimed size is refused before anything is decoded.
    for content, code in [
        (content_of(NOTICE)[:9_000], "damaged"),
        (empty_png(10_000, 10_000), "too_large"),
        (empty_png(60_000, 60_000), "too_large"),
    ]:
        with subtests.test(case=code), pytest.raises(ParseRefused) as refusal:
            parse(content, "a.png")
        assert refusal.value.code == code


def test_picture_without_text_is_a_document(monkeypatch):
    monkeypatch.setattr(image, "recognise", lambda picture: [])
    without_text = parse(content_of(NOTICE), NOTICE)
    width, height = without_text.metadata["width"], without_text.metadata["height"]
    assert (without_text.title, list(without_text.outline.lines)) == ("notice", [])
    assert without_text.source_span(1, 1) == RegionSpan(0, 0, width, height)
    monkeypatch.setattr(image, "is_ocr_installed", lambda: False)
    without_ocr = parse(content_of(NOTICE)[:9_000], "a.png")
    assert (list(without_ocr.outline.lines), without_ocr.omissions[0].kind) == ([], "pictures")
    assert without_ocr.source_span(1, 1) == LineSpan(1, 1)


def test_bands_cover_a_picture_and_own_each_height_once(subtests):
    for size in [(900, 360), (1_654, 2_340), (4_000, 12_500), (40, 9_000), (3, 1), (1, 3_000)]:
        with subtests.test(case=size):
            bands = _bands(*size)
            assert (bands[0].start, bands[-1].end) == (0, size[1])
            assert (bands[0].own_start, bands[-1].own_end) == (0, size[1])
            for before, band in pairwise(bands):
                assert before.own_end == band.own_start
                assert band.start < before.end
            assert all(band.start <= band.own_start < band.own_end <= band.end for band in bands)


def test_gap_or_another_column_begins_a_paragraph():
    def line(y, x=0):
        return PictureLine(text="a", x=x, y=y, w=50, h=20)

    assert paragraph_starts([line(0), line(22), line(80), line(102), line(0, x=300)]) == [0, 2, 4]
    assert paragraph_starts([]) == []
