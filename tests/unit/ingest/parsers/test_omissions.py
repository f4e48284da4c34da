"""Omissions: text that readers leave out or can't read, summed by kind."""

import io
import zipfile

import pytest

from ingest.parsers.omissions import Omission, OmissionLog, compare_words, omissions_to_wire
from ingest.parsers.registry import parse
from search.documents.omissions import omission_views
from tests.support.samples import content_of

WORDS = [f"word{number}" for number in range(100)]


def test_omissions_of_a_kind_are_summed_with_their_first_places():
    log = OmissionLog()
    for number in range(1, 7):
        log.omitted("hidden_text", 10, f"sheet {number}")
    log.omitted("pictures")
    log.omitted("comments", 0, "nowhere")
    places = ("sheet 1", "sheet 2", "sheet 3", "…")
    assert log.listed() == (
        Omission(kind="hidden_text", amount=60, where=places),
        Omission(kind="pictures", amount=1),
    )


def test_places_are_short_and_storable_and_kinds_are_known():
    log = OmissionLog()
    log.omitted("hidden_text", 1, "a\0b\n" + "x" * 1_000)
    ((place,),) = [each.where for each in log.listed()]
    assert len(place) == 100 and "\0" not in place and "\n" not in place
    with pytest.raises(KeyError):
        log.omitted("mislaid_text")


def test_stored_omissions_are_shown_with_unread_text_first():
    listed = (
        Omission(kind="site_parts", amount=7),
        Omission(kind="scanned_pages", amount=2, where=("page 3", "page 4")),
        Omission(kind="read_in_part", amount=40),
    )
    views = omission_views({**omissions_to_wire(listed), "of_a_later_version": {"amount": 1}})
    assert [(each.kind, each.amount, each.unit, each.is_on_purpose) for each in views] == [
        ("read_in_part", 40, "words", False),
        ("scanned_pages", 2, "pages", False),
        ("site_parts", 7, "characters", True),
    ]
    assert views[1].message.endswith("(pages: 2; page 3, page 4)")


def test_document_is_read_in_part_when_a_fifth_of_the_distinct_words_is_missing():
    seen = " ".join(WORDS * 2)
    assert compare_words(seen, [" ".join(WORDS[:70])]) == (Omission(kind="read_in_part", amount=30),)
    assert compare_words(seen, [" ".join(WORDS[:85])]) == ()
    assert compare_words(" ".join(WORDS[:6]), WORDS[:1]) == ()
    assert compare_words(seen, WORDS[:1], free_words=100) == ()
    assert compare_words(WORDS[0], []) == (Omission(kind="read_in_part", amount=1),)


def test_office_file_whose_text_a_reader_misses_is_marked():
    whole = content_of("office/handbook.docx")
    assert parse(whole, "report.docx").omissions == ()
    loose = "".join(f"<w:r><w:t>{word} </w:t></w:r>" for word in WORDS)  # outside of any paragraph
    changed = with_body(whole, f"<w:p><w:r><w:t>Tides</w:t></w:r></w:p>{loose}")
    assert parse(changed, "report.docx").omissions == (Omission(kind="read_in_part", amount=100),)


def with_body(content, paragraph):
    """Return a Word file with another body."""
    archive, changed = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(changed, "w") as written:
        for name in archive.namelist():
            part = archive.read(name)
            if name == "word/document.xml":
                start, end = part.index(b"<w:body>") + 8, part.rindex(b"</w:body>")
                part = part[:start] + paragraph.encode() + part[end:]
            written.writestr(name, part)
    return changed.getvalue()


def test_page_states_how_much_of_the_site_was_left_out():
    menu = "<nav>" + "<a href=x>Menu</a>" * 10 + "</nav>"
    page = f"{menu}<main><h1>Tides</h1><p>{'The water rises twice a day. ' * 10}</p></main>".encode()
    assert parse(page, "a.html").omissions == (Omission(kind="site_parts", amount=40),)


def test_page_that_hides_much_of_its_main_part_is_marked():
    lead = "Short main part of the page. " * 20
    ornament = f'<div aria-hidden="true">{" ".join(WORDS)}</div>'
    omissions = parse(f"<main><p>{lead}</p>{ornament}</main>".encode(), "a.html").omissions
    assert [(each.kind, each.amount) for each in omissions] == [("hidden_text", 689), ("read_in_part", 100)]
    outside = parse(f"<main><p>{lead}</p></main>{ornament}".encode(), "a.html").omissions
    assert [each.kind for each in outside] == ["hidden_text"]
