"""PDFs of real programs, parsed in the limited process."""

import pytest

from ingest.parsers import registry
from ingest.parsers.errors import ParseRefused
from ingest.parsers.images.ocr import PictureLine
from ingest.parsers.omissions import Omission
from ingest.parsers.pdf import parse as pdf_parse
from ingest.parsers.registry import parse
from ingest.parsers.types import PageSpan
from tests.support.samples import citation_of, content_of, digest_sample

PRINTED, OUTLINED, SCANNED = "pdf/printed.pdf", "pdf/outlined.pdf", "pdf/scanned.pdf"
ENCRYPTED, CUT = "pdf/encrypted.pdf", "pdf/cut.pdf"

UNREAD_PAGE = Omission(kind="scanned_pages", amount=1, where=("page 1",))


@pytest.fixture(scope="module")
def printed_digest(shared_digester):
    return digest_sample(shared_digester, PRINTED)


@pytest.fixture(scope="module")
def outlined_digest(shared_digester):
    return digest_sample(shared_digester, OUTLINED)


def text_of(digest):
    return " ".join(" ".join(chunk.text.split()) for chunk in digest.chunks)


def operation_refusal(name):
    with pytest.raises(ParseRefused) as refusal:
        parse(content_of(name), name)
    return refusal.value


def test_printed_document_is_read_and_cited_by_its_pages(printed_digest):
    assert (printed_digest.media, printed_digest.mime, printed_digest.parser) == (
        "pdf",
        "application/pdf",
        "pdf",
    )
    assert (printed_digest.title, printed_digest.lang, printed_digest.metadata["pages"]) == (
        "Operations handbook",
        "en",
        3,
    )
    for words, page in [
        ("reads the four pressure gauges", 1),
        ("the marmalade siren sounds twice", 2),
        ("it blames nobody. An unsigned report is returned.", 3),
    ]:
        assert citation_of(printed_digest, PRINTED, words) == f"{PRINTED}#page={page}"
    (chunk,) = (chunk for chunk in printed_digest.chunks if "marmalade" in chunk.text)
    assert chunk.heading_path == ("Operations handbook", "Night alarms")
    assert chunk.breadcrumb == "Operations handbook > Night alarms"
    assert "Night alarms" not in chunk.text


def test_running_lines_stay_once_and_rows_of_a_table_stay_lines(printed_digest):
    text = text_of(printed_digest)
    assert text.count("Harbour service, internal") == 1  # its words are still found
    assert "Page 1 of 3" not in text
    (chunk,) = (chunk for chunk in printed_digest.chunks if "Lock chamber" in chunk.text)
    assert "Gauge Normal\nNorth basin 12 bar\nLock chamber 9 bar" in chunk.text


def test_divided_words_are_joined_and_compounds_keep_their_hyphen(outlined_digest):
    text = text_of(outlined_digest)
    for whole in ("its foundations reach four metres", "A well-known engraving", "washed the scaffold away"):
        assert whole in text
    assert "well-known motto" in text


def test_information_and_bookmarks_are_kept(outlined_digest):
    assert outlined_digest.title == "Keeping the lighthouse"
    assert outlined_digest.metadata == {"author": "M. Penrose", "created": "2000-01-01", "pages": 4}
    (chunk,) = (chunk for chunk in outlined_digest.chunks if "vinegar" in chunk.text)
    assert chunk.heading_path == ("2 Lamp and lens", "2.1 Cleaning")
    assert citation_of(outlined_digest, OUTLINED, "vinegar") == f"{OUTLINED}#page=3"


def test_no_chunk_reaches_over_a_page(printed_digest, outlined_digest):
    for chunk in (*printed_digest.chunks, *outlined_digest.chunks):
        assert len({span["page"] for span in chunk.spans}) == 1


def test_damaged_pdf_is_repaired(shared_digester, subtests):
    digest = digest_sample(shared_digester, CUT)
    assert citation_of(digest, CUT, "an iron bar once every forty seconds") == f"{CUT}#page=4"
    assert len(digest.warnings) == 1
    whole = content_of(PRINTED)
    for name, damaged in {
        "the wrong place of its table": whole[: whole.rindex(b"startxref")] + b"startxref\n99\n%%EOF\n",
        "no table": whole.replace(b"xref\n0", b"xrof\n7", 1),
        "bytes before it": b"X-Header: mail\r\n\r\n" + whole,
    }.items():
        with subtests.test(case=name):
            digest = shared_digester.digest(damaged, "a.pdf")
            assert citation_of(digest, "a.pdf", "marmalade") == "a.pdf#page=2"
    for size in range(1_000, len(whole), 7_001):
        with subtests.test(case=size):
            try:
                assert shared_digester.digest(whole[:size], "a.pdf").chunks
            except ParseRefused as refusal:
                assert refusal.code == "damaged"


def test_unreadable_pdf_is_refused():
    refusal = operation_refusal(ENCRYPTED)
    assert (refusal.code, "password" in refusal.detail) == ("encrypted", True)
    for content in (b"%PDF-1.7\n", b"%PDF-1.7\n" + bytes(range(256)) * 40):
        with pytest.raises(ParseRefused) as caught:
            parse(content, "a.pdf")
        assert caught.value.code == "damaged"


@pytest.mark.slow
def test_scanned_page_is_recognised_and_cited_by_page(shared_digester):
    digest = digest_sample(shared_digester, SCANNED)
    assert citation_of(digest, SCANNED, "The ferry leaves the pier at 18:45 sharp.") == f"{SCANNED}#page=1"
    assert digest.title == "Notice to all keepers"


def test_recognised_lines_of_a_scanned_page_are_its_text(monkeypatch):
    line = PictureLine(text="The ferry leaves.", x=100, y=200, w=300, h=40)
    monkeypatch.setattr(pdf_parse, "recognise", lambda picture: [line])
    outline = parse(content_of(SCANNED), SCANNED).outline
    assert [text for text in outline.lines if text] == ["The ferry leaves."]
    assert outline.origins[0].page == 1


def test_scanned_pdf_without_ocr_is_a_document_without_text(monkeypatch):
    monkeypatch.setattr(pdf_parse, "is_ocr_installed", lambda: False)
    parsed = parse(content_of(SCANNED), SCANNED)
    assert (list(parsed.outline.lines), parsed.source_span(1, 1)) == ([], PageSpan(1))
    assert (parsed.metadata["pages"], parsed.omissions) == (1, (UNREAD_PAGE,))


def test_pdf_page_limits_are_applied(monkeypatch):
    monkeypatch.setattr(pdf_parse, "MAX_RECOGNISED", 0)
    assert list(parse(content_of(SCANNED), SCANNED).outline.lines) == []
    monkeypatch.setattr(pdf_parse, "MAX_PAGES", 2)
    refusal = operation_refusal(PRINTED)
    assert refusal.code == "too_many_pages"
    assert "3" in refusal.detail and "2" in refusal.detail


def test_installed_ocr_changes_the_versions_of_parsers_that_use_it(monkeypatch):
    monkeypatch.setattr(registry, "HAS_OCR", False)
    without = {path: registry.parser_version_for(path) for path in ("a.pdf", "a.png", "a.md")}
    monkeypatch.setattr(registry, "HAS_OCR", True)
    changed = {path for path in without if registry.parser_version_for(path) != without[path]}
    assert changed == {"a.pdf", "a.png"}
