"""Lines of PDF pages: what is left out, what belongs together, what is a heading. Pure, without pdfium."""

import pytest

from ingest.parsers.pdf.bookmarks import headings_on
from ingest.parsers.pdf.outline import lay_out
from ingest.parsers.pdf.page_text import HYPHEN
from ingest.parsers.pdf.paragraphs import paragraphs, without_hyphens, words_of
from ingest.parsers.pdf.running import without_running_lines
from ingest.parsers.pdf.titles import printed_title, stated_title, told_metadata
from ingest.parsers.pdf.types import Bookmark, PageText, TextLine


def line(text, y, *, left=72.0, height=11.0):
    return TextLine(text=text, left=left, top=y + height, bottom=y)


def page(number, *lines):
    return PageText(number=number, lines=lines, bottom=0.0, top=842.0)


def texts(pages):
    return [[found.text for found in kept.lines] for kept in pages]


def test_lines_that_most_pages_repeat_at_their_edge_stay_once():
    pages = [
        page(n, line(f"Annual report {n}", 800), line(f"words of page {n}", 400), line(f"- {n} -", 30))
        for n in range(1, 6)
    ]
    kept = texts(without_running_lines(pages))
    assert kept[0] == ["Annual report 1", "words of page 1"]
    assert kept[1:] == [[f"words of page {n}"] for n in range(2, 6)]


def test_headers_of_left_and_right_pages_go_too():
    headers = {0: "The harbour", 1: "Chapter 2: Tides"}
    pages = [page(n, line(headers[n % 2], 800), line(f"text {n}", 400)) for n in range(10)]
    assert sum(len(kept.lines) for kept in without_running_lines(pages)) == 10 + 2


@pytest.mark.parametrize(
    "pages",
    [
        [page(n, line("Repeated in the middle", 400)) for n in range(9)],
        [page(n, line(f"{n} 12.5 {n}", 800)) for n in range(9)],
        [page(1, line("Twice only", 800)), page(2, line("Twice only", 800))],
        [page(n, line(f"Word{'s' * n} here", 800)) for n in range(9)],
        [page(n, line(f"Invoice {1000 + n}", 800)) for n in range(9)],
        [page(n, line(f"Total due: {(n * 7919) % 83 + 200} EUR", 30)) for n in range(9)],
        [page(n, line(f"Lesson {n // 3 + 1} of harbours", 800)) for n in range(8)],
    ],
    ids=[
        "in the middle",
        "rows of numbers",
        "too few pages",
        "different words",
        "invoices",
        "sums",
        "lessons",
    ],
)
def test_what_may_be_text_is_never_left_out(pages):
    assert without_running_lines(pages) == pages


def test_a_wide_gap_a_bullet_another_size_or_an_indent_begins_a_paragraph():
    lines = [
        line("First line of the text", 700),
        line("goes on, and ends.", 686),
        line("Indented after a full stop", 672, left=90),
        line("and on.", 658),
        line("After a gap", 630),
        line("• a point", 616),
        line("small print", 604, height=7),
        line("top of the next column", 700, left=320),
    ]
    assert [[one.text for one in run] for run in paragraphs(lines)] == [
        ["First line of the text", "goes on, and ends."],
        ["Indented after a full stop", "and on."],
        ["After a gap"],
        ["• a point"],
        ["small print"],
        ["top of the next column"],
    ]


def test_double_spaced_lines_are_one_paragraph():
    lines = [line(f"line {n}", 700 - 24 * n) for n in range(5)]
    assert len(list(paragraphs(lines))) == 1


@pytest.mark.parametrize(
    ("text", "words", "joined"),
    [
        (f"foun-{HYPHEN}dations", "", "foundations"),
        (f"foun{HYPHEN}dations", "", "foundations"),
        (f"well-{HYPHEN}known", "a well-known thing", "well-known"),
        (f"Anglo-{HYPHEN}Saxon", "", "Anglo-Saxon"),
        (f"un{HYPHEN}der{HYPHEN}stand", "", "understand"),
        (f"E-{HYPHEN}Mail", "Email or E-Mail or email", "EMail"),
        (f"lone{HYPHEN}", "", "lone"),
        ("no mark - here", "", "no mark - here"),
    ],
)
def test_divided_words_are_joined_as_the_document_writes_them(text, words, joined):
    assert without_hyphens(text, words_of([words, text])) == joined


def test_a_page_of_letters_alone_is_joined_in_linear_time():
    text = "x" * 200_000 + f"-{HYPHEN}" + "y" * 200_000
    assert len(without_hyphens(text, words_of([text]))) >= 400_000


def bookmark(title, top=None, level=1):
    return Bookmark(title=title, level=level, page=1, top=top)


@pytest.mark.parametrize(
    ("entry", "place", "size"),
    [
        (bookmark("Second part"), 2, 1),
        (bookmark("2 Second part"), 2, 1),
        (bookmark("A title over two lines"), 4, 2),
        (bookmark("Not printed", top=655.0), 3, 0),
        (bookmark("The whole page"), 0, 0),
    ],
)
def test_a_bookmark_is_a_heading_where_it_leads(entry, place, size):
    lines = ("Introduction", "words", "Second part", "more words", "A title over", "two lines", "end")
    found = page(1, *(line(text, 700 - 20 * n) for n, text in enumerate(lines)))
    assert headings_on(found, [entry]) == {place: (entry, size)}


def test_a_bookmark_that_is_not_printed_is_a_heading_with_its_own_line():
    paged = lay_out([page(1, line("words", 700))], [bookmark("Cover")])
    assert [(block.kind, block.text) for block in paged.blocks] == [("heading", "Cover"), ("paragraph", "")]
    assert paged.lines == ["Cover", "", "words", ""]


def test_each_page_with_text_begins_with_a_wall_and_blank_ones_leave_none():
    pages = [page(1, line("one", 700)), page(2), page(3, line("three", 700))]
    paged = lay_out(pages, [])
    assert (paged.lines, paged.walls) == (["one", "", "three", ""], [3])
    assert [origin.page for origin in paged.origins] == [1, 1, 3, 3]


@pytest.mark.parametrize(
    ("title", "stated"),
    [
        ("Keeping the lighthouse", "Keeping the lighthouse"),
        ("Microsoft Word - Pump manual", "Pump manual"),
        ("Microsoft Word - report_v2.doc", None),
        ("untitled", None),
        ("Document1", None),
        ("about:blank", None),
        ("file:///C:/x.html", None),
        ("C:\\papers\\final.tex", None),
        ("  \x00 ", None),
        ("", None),
    ],
)
def test_only_a_title_that_somebody_gave_is_one(title, stated):
    assert stated_title({"Title": title}) == stated


def test_the_largest_lines_of_the_first_page_are_its_title():
    body = [line(f"text line number {n}", 600 - 14 * n) for n in range(20)]
    heading = [line("A history", 760, height=22), line("of tide mills", 735, height=22)]
    assert printed_title(page(1, *heading, *body)) == "A history of tide mills"
    assert printed_title(page(1, *body)) is None
    assert printed_title(page(1)) is None


def test_information_that_says_nothing_is_not_kept():
    told = {
        "Author": "anonymous",
        "Subject": "unspecified",
        "Keywords": " tides, mills ",
        "CreationDate": "x",
    }
    assert told_metadata(told, 3) == {"keywords": "tides, mills", "pages": 3}


@pytest.mark.parametrize(
    "number", ["{}", "- {} -", "Page {}", "page {} of 9", "{} / 9", "Seite {} von 9", "S. {}", "Стр. {}"]
)
def test_what_says_no_more_than_the_number_of_its_page_goes_everywhere(number):
    pages = [page(n, line(f"words of page {n}", 400), line(number.format(n), 30)) for n in range(1, 9)]
    assert texts(without_running_lines(pages)) == [[f"words of page {n}"] for n in range(1, 9)]


def test_a_short_header_with_the_number_of_its_page_stays_once():
    pages = [page(n, line(f"Tides {n}", 800), line(f"text {n}", 400)) for n in range(1, 6)]
    assert [found for kept in texts(without_running_lines(pages)) for found in kept if "Tides" in found] == [
        "Tides 1"
    ]
