"""PDFs that real programs wrote, read in the limited process."""

import pytest

from ingest.parsers import registry
from ingest.parsers.errors import ParseRefused
from ingest.parsers.ocr import INSTALL
from ingest.parsers.pdf import parse as pdf_parse
from ingest.parsers.registry import parse
from ingest.sandbox.digester import Digester
from tests.unit.ingest.real_files import citation_of, content_of, digested

PRINTED, OUTLINED, SCANNED = "pdf/printed.pdf", "pdf/outlined.pdf", "pdf/scanned.pdf"
ENCRYPTED, CUT = "pdf/encrypted.pdf", "pdf/cut.pdf"


@pytest.fixture(scope="module")
def digester():
    with Digester() as one:
        yield one


def text_of(digest):
    return " ".join(" ".join(chunk.text.split()) for chunk in digest.chunks)


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("reads the four pressure gauges", 1),
        ("the marmalade siren sounds twice", 2),
        ("it blames nobody. An unsigned report is returned.", 3),
    ],
)
def test_words_of_a_printed_page_are_cited_by_their_page(digester, words, page):
    digest = digested(digester, PRINTED)
    assert (digest.media, digest.mime, digest.parser) == ("pdf", "application/pdf", "pdf")
    assert citation_of(digest, PRINTED, words) == f"{PRINTED}#page={page}"


def test_a_printed_document_has_its_title_language_and_headings(digester):
    digest = digested(digester, PRINTED)
    assert (digest.title, digest.lang, digest.metadata["pages"]) == ("Operations handbook", "en", 3)
    (chunk,) = (chunk for chunk in digest.chunks if "marmalade" in chunk.text)
    assert chunk.heading_path == ("Operations handbook", "Night alarms")
    assert chunk.breadcrumb == "Operations handbook > Night alarms"
    assert "Night alarms" not in chunk.text


def test_headers_and_page_numbers_stay_out_of_the_text(digester):
    text = text_of(digested(digester, PRINTED))
    assert text.count("Harbour service, internal") == 1  # its words are still found
    assert "Page 1 of 3" not in text


def test_rows_of_a_table_stay_lines(digester):
    (chunk,) = (chunk for chunk in digested(digester, PRINTED).chunks if "Lock chamber" in chunk.text)
    assert "Gauge Normal\nNorth basin 12 bar\nLock chamber 9 bar" in chunk.text


def test_divided_words_are_joined_and_compounds_keep_their_hyphen(digester):
    text = text_of(digested(digester, OUTLINED))
    for whole in ("its foundations reach four metres", "A well-known engraving", "washed the scaffold away"):
        assert whole in text
    assert "well-known motto" in text


def test_the_information_of_a_pdf_is_kept(digester):
    digest = digested(digester, OUTLINED)
    assert digest.title == "Keeping the lighthouse"
    assert digest.metadata == {"author": "M. Penrose", "created": "2000-01-01", "pages": 4}


def test_bookmarks_nest_as_headings_on_their_pages(digester):
    digest = digested(digester, OUTLINED)
    (chunk,) = (chunk for chunk in digest.chunks if "vinegar" in chunk.text)
    assert chunk.heading_path == ("2 Lamp and lens", "2.1 Cleaning")
    assert citation_of(digest, OUTLINED, "vinegar") == f"{OUTLINED}#page=3"


def test_no_chunk_reaches_over_a_page(digester):
    for name in (PRINTED, OUTLINED):
        for chunk in digested(digester, name).chunks:
            assert len({span["page"] for span in chunk.spans}) == 1


def test_an_encrypted_pdf_is_refused_with_what_to_do(digester):
    with pytest.raises(ParseRefused, match="save a copy that opens without a password") as refusal:
        digested(digester, ENCRYPTED)
    assert refusal.value.code == "encrypted"


def test_a_pdf_cut_short_of_its_table_is_repaired(digester):
    digest = digested(digester, CUT)
    assert citation_of(digest, CUT, "an iron bar once every forty seconds") == f"{CUT}#page=4"
    assert digest.warnings == ("the file ends before its end was written; read is what could be repaired",)


@pytest.mark.parametrize(
    "damage",
    [
        lambda pdf: pdf[: pdf.rindex(b"startxref")] + b"startxref\n99\n%%EOF\n",
        lambda pdf: pdf.replace(b"xref\n0", b"xrof\n7", 1),
        lambda pdf: b"X-Header: mail\r\n\r\n" + pdf,
    ],
    ids=["the wrong place of its table", "no table", "bytes before it"],
)
def test_a_pdf_with_a_broken_table_is_read(digester, damage):
    digest = digester.digest(damage(content_of(PRINTED)), "a.pdf")
    assert citation_of(digest, "a.pdf", "marmalade") == "a.pdf#page=2"


@pytest.mark.parametrize("content", [b"%PDF-1.7\n", b"%PDF-1.7\n" + bytes(range(256)) * 40])
def test_what_only_begins_like_a_pdf_is_refused(digester, content):
    with pytest.raises(ParseRefused, match="damaged beyond repair") as refusal:
        digester.digest(content, "a.pdf")
    assert refusal.value.code == "damaged"


def test_half_a_pdf_is_refused_or_read_but_never_a_crash(digester):
    whole = content_of(PRINTED)
    for size in range(1_000, len(whole), 7_001):
        try:
            assert digester.digest(whole[:size], "a.pdf").chunks
        except ParseRefused as refusal:
            assert refusal.code in ("damaged", "no_text")


def test_text_that_is_called_a_pdf_is_read_as_text(digester):
    assert digester.digest(b"<!doctype html><title>Moved</title><p>Log in.", "a.pdf").parser == "html"


def test_a_pdf_with_another_name_is_read_as_pdf(digester):
    assert digester.digest(content_of(PRINTED), "notes.md").parser == "pdf"


def test_a_scanned_page_is_recognised_and_cited_by_page(digester):
    digest = digested(digester, SCANNED)
    assert citation_of(digest, SCANNED, "The ferry leaves the pier at 18:45 sharp.") == f"{SCANNED}#page=1"
    assert digest.title == "Notice to all keepers"


def test_a_scanned_pdf_without_ocr_is_refused_with_the_way_to_it(monkeypatch):
    monkeypatch.setattr(pdf_parse, "is_ocr_installed", lambda: False)
    with pytest.raises(ParseRefused, match="no text") as refusal:
        parse(content_of(SCANNED), SCANNED)
    assert refusal.value.code == "no_text"
    assert refusal.value.detail.endswith(INSTALL)


def test_pages_over_the_limit_of_recognition_are_named(monkeypatch):
    monkeypatch.setattr(pdf_parse, "MAX_RECOGNISED", 0)
    with pytest.raises(ParseRefused, match="none was recognised"):
        parse(content_of(SCANNED), SCANNED)


def test_a_pdf_with_too_many_pages_is_refused(monkeypatch):
    monkeypatch.setattr(pdf_parse, "MAX_PAGES", 2)
    with pytest.raises(ParseRefused, match="has 3 pages, at most 2 are read") as refusal:
        parse(content_of(PRINTED), PRINTED)
    assert refusal.value.code == "too_many_pages"


def test_what_was_refused_without_ocr_is_read_again_with_it(monkeypatch):
    monkeypatch.setattr(registry, "HAS_OCR", False)
    without = {path: registry.parser_version_for(path) for path in ("a.pdf", "a.png", "a.md")}
    monkeypatch.setattr(registry, "HAS_OCR", True)
    changed = {path for path in without if registry.parser_version_for(path) != without[path]}
    assert changed == {"a.pdf", "a.png"}
