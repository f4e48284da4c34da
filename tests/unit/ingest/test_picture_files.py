"""Pictures of text in several formats, through the limited process and OCR."""

import struct
import zlib
from itertools import pairwise

import psutil
import pytest

from ingest.parsers import image
from ingest.parsers.errors import ParseRefused
from ingest.parsers.ocr import INSTALL, PictureLine, _bands, paragraph_starts
from ingest.parsers.registry import parse
from ingest.sandbox.digester import Digester
from search.retrieval.citation import parse_uri
from tests.unit.ingest.real_files import citation_of, content_of, digested

NOTICE = "image/notice.png"
#: where the browser that made the picture drew the three lines: left, top, right, bottom
TEXT_BOX = (40, 40, 545, 240)
SLACK = 12


@pytest.fixture(scope="module")
def digester():
    with Digester() as one:
        yield one


def empty_png(width, height):
    """A PNG that says it has this size, and has no pixels."""

    def chunk(name, content):
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b""))


@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "gif", "tiff"])
def test_text_in_a_picture_is_cited_by_its_region(digester, kind):
    path = f"image/notice.{kind}"
    digest = digested(digester, path)
    assert (digest.title, digest.media, digest.lang) == ("Notice to all keepers", "image", "en")
    assert (digest.metadata["width"], digest.metadata["height"]) == (900, 360)
    cited = parse_uri(citation_of(digest, path, "The ferry leaves the pier at 18:45 sharp."))
    box = (cited.x, cited.y, cited.x + cited.w, cited.y + cited.h)
    assert all(abs(found - drawn) <= SLACK for found, drawn in zip(box, TEXT_BOX, strict=True)), box


def test_only_the_first_picture_of_several_is_read_and_that_is_said(digester):
    assert digested(digester, "image/notice.gif").warnings == ("the first of its 2 pictures was read",)


def test_text_far_below_has_a_region_of_its_own(digester):
    digest = digested(digester, "image/high.png")
    first, last = digest.chunks
    assert (first.text.splitlines()[-1], last.text) == (
        "Dogs travel free of charge.",
        "Notice to all keepers",
    )
    assert last.spans[0]["y"] > 2_200
    assert last.spans[0]["h"] < 80


def test_recognition_stays_within_the_memory_of_a_worker(digester):
    digested(digester, "image/high.png")
    child = psutil.Process(digester.child_pid)
    assert child.memory_info().rss < 500 * 1024**2


def test_nothing_is_fetched_to_recognise_text(digester):
    digested(digester, NOTICE)
    assert psutil.Process(digester.child_pid).net_connections() == []


def test_a_picture_without_ocr_is_refused_with_the_way_to_it(monkeypatch):
    monkeypatch.setattr(image, "is_ocr_installed", lambda: False)
    with pytest.raises(ParseRefused) as refusal:
        parse(content_of(NOTICE), NOTICE)
    assert (refusal.value.code, refusal.value.detail) == (
        "no_ocr",
        f"text in pictures is not read here; {INSTALL}",
    )


def test_a_damaged_picture_is_refused(digester):
    with pytest.raises(ParseRefused, match="the picture is damaged") as refusal:
        digester.digest(content_of(NOTICE)[:9_000], "a.png")
    assert refusal.value.code == "damaged"


@pytest.mark.parametrize(("width", "height"), [(10_000, 10_000), (60_000, 60_000)])
def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(digester, width, height):
    with pytest.raises(ParseRefused, match="pixels") as refusal:
        digester.digest(empty_png(width, height), "a.png")
    assert refusal.value.code == "too_large"


def test_a_picture_without_text_is_refused(monkeypatch):
    monkeypatch.setattr(image, "recognise", lambda picture: [])
    with pytest.raises(ParseRefused, match="no text was recognised") as refusal:
        parse(content_of(NOTICE), NOTICE)
    assert refusal.value.code == "no_text"


@pytest.mark.parametrize(
    "size", [(900, 360), (1_654, 2_340), (4_000, 12_500), (40, 9_000), (3, 1), (1, 3_000)]
)
def test_bands_cover_a_picture_and_own_each_height_once(size):
    bands = _bands(*size)
    assert (bands[0].start, bands[-1].end) == (0, size[1])
    assert (bands[0].own_start, bands[-1].own_end) == (0, size[1])
    for before, band in pairwise(bands):
        assert before.own_end == band.own_start
        assert band.start < before.end
    assert all(band.start <= band.own_start < band.own_end <= band.end for band in bands)


def test_a_gap_or_another_column_begins_a_paragraph():
    def line(y, x=0):
        return PictureLine(text="a", x=x, y=y, w=50, h=20)

    assert paragraph_starts([line(0), line(22), line(80), line(102), line(0, x=300)]) == [0, 2, 4]
    assert paragraph_starts([]) == []
