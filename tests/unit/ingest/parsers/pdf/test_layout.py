"""Lines of PDF pages: running lines, paragraphs, divided words, headings and titles, without pdfium."""

from ingest.parsers.pdf.bookmarks import headings_on
from ingest.parsers.pdf.outline import lay_out, without_running_lines
from ingest.parsers.pdf.paragraphs import paragraphs, without_hyphens, words_of
from ingest.parsers.pdf.parse import printed_title, stated_metadata, stated_title
from ingest.parsers.pdf.types import HYPHEN, Bookmark, PageText, TextLine


def line(text, y, *, left=72.0, height=11.0):
    return TextLine(text=text, left=left, top=y + height, bottom=y)


def page(number, *lines):
    return PageText(number=number, lines=lines, bottom=0.0, top=842.0)


def kept_texts(pages):
    return [[found.text for found in kept.lines] for kept in without_running_lines(pages)]


def test_lines_that_most_pages_repeat_at_their_edge_stay_once():
    pages = [
        page(n, line(f"Annual report {n}", 800), line(f"words of page {n}", 400), line(f"- {n} -", 30))
        for n in range(1, 6)
    ]
    first, *others = kept_texts(pages)
    assert first == ["Annual report 1", "words of page 1"]
    assert others == [[f"words of page {n}"] for n in range(2, 6)]
    headers = {0: "The harbour", 1: "Chapter 2: Tides"}  # of left and right pages
    pages = [page(n, line(headers[n % 2], 800), line(f"text {n}", 400)) for n in range(10)]
    assert sum(map(len, kept_texts(pages))) == 10 + 2
    pages = [page(n, line(f"Tides {n}", 800), line(f"text {n}", 400)) for n in range(1, 6)]
    assert [text for kept in kept_texts(pages) for text in kept if "Tides" in text] == ["Tides 1"]


def test_page_numbers_are_left_out_everywhere(subtests):
    forms = "{}|- {} -|Page {}|page {} of 9|{} / 9|Seite {} von 9|S. {}|Стр. {}"
    for number in forms.split("|"):
        with subtests.test(case=number):
            pages = [
                page(n, line(f"words of page {n}", 400), line(number.format(n), 30)) for n in range(1, 9)
            ]
            assert kept_texts(pages) == [[f"words of page {n}"] for n in range(1, 9)]


def test_lines_that_may_be_text_are_kept(subtests):
    for name, pages in {
        "in the middle": [page(n, line("Repeated in the middle", 400)) for n in range(9)],
        "rows of numbers": [page(n, line(f"{n} 12.5 {n}", 800)) for n in range(9)],
        "too few pages": [page(1, line("Twice only", 800)), page(2, line("Twice only", 800))],
        "different words": [page(n, line(f"Word{'s' * n} here", 800)) for n in range(9)],
        "invoices": [page(n, line(f"Invoice {1000 + n}", 800)) for n in range(9)],
        "sums": [page(n, line(f"Total due: {(n * 7919) % 83 + 200} EUR", 30)) for n in range(9)],
        "lessons": [page(n, line(f"Lesson {n // 3 + 1} of harbours", 800)) for n in range(8)],
    }.items():
        with subtests.test(case=name):
            assert without_running_lines(pages) == pages


def test_gap_bullet_size_or_indent_begins_a_paragraph():
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
    double_spaced = [line(f"line {n}", 700 - 24 * n) for n in range(5)]
    assert len(list(paragraphs(double_spaced))) == 1


def test_lines_of_chinese_and_japanese_are_joined_up_to_the_end_of_a_sentence():
    texts = [
        "港の入口にある灯台は毎晩点灯され",
        "霧の日には鐘が鳴る。",
        "船は朝に出る予定であるが荷物の検",
        "査を待つ。",
        "港",
        "町",
    ]
    lines = [
        TextLine(text=text, left=72, right=72 + 11 * len(text), top=711 - 14 * n, bottom=700 - 14 * n)
        for n, text in enumerate(texts)
    ]
    (joined,) = paragraphs(lines)
    assert [one.text for one in joined] == [texts[0] + texts[1], texts[2] + texts[3], "港", "町"]


def test_divided_words_are_joined_as_the_document_writes_them(subtests):
    for text, words, joined in [
        (f"foun-{HYPHEN}dations", "", "foundations"),
        (f"foun{HYPHEN}dations", "", "foundations"),
        (f"well-{HYPHEN}known", "a well-known thing", "well-known"),
        (f"Anglo-{HYPHEN}Saxon", "", "Anglo-Saxon"),
        (f"un{HYPHEN}der{HYPHEN}stand", "", "understand"),
        (f"well-{HYPHEN}known", "", "well-known"),
        (f"cloud-{HYPHEN}native", "native to the cloud", "cloud-native"),
        (f"E{HYPHEN}Mail", "Email", "E-Mail"),
        (f"Konto{HYPHEN}auszug", "Ein Konto", "Kontoauszug"),
        (f"COVID-{HYPHEN}19", "", "COVID-19"),
        (f"FOUN{HYPHEN}DATIONS", "", "FOUNDATIONS"),
        (f"state-of-the{HYPHEN}art", "", "state-of-the-art"),
        (f"(https://exa-{HYPHEN}mple.org/a).", "example", "(https://exa-mple.org/a)."),
        (f"post{HYPHEN}master@exa.example", "", "post-master@exa.example"),
        (f"lone{HYPHEN}", "", "lone-"),
        ("no mark - here", "", "no mark - here"),
    ]:
        with subtests.test(case=text):
            assert without_hyphens(text, words_of([words, text])) == joined
    # Quadratic time would be minutes here.
    text = "x" * 20_000 + f"-{HYPHEN}" + "y" * 20_000
    assert len(without_hyphens(text, words_of([text]))) >= 40_000


def test_bookmark_is_a_heading_where_it_leads(subtests):
    lines = ("Introduction", "words", "Second part", "more words", "A title over", "two lines", "end")
    found = page(1, *(line(text, 700 - 20 * n) for n, text in enumerate(lines)))
    for title, top, place, size in [
        ("Second part", None, 2, 1),
        ("2 Second part", None, 2, 1),
        ("A title over two lines", None, 4, 2),
        ("Not printed", 655.0, 3, 0),
        ("The whole page", None, 0, 0),
    ]:
        with subtests.test(case=title):
            entry = Bookmark(title=title, level=1, page=1, top=top)
            assert headings_on(found, [entry]) == {place: (entry, size)}
    cover = Bookmark(title="Cover", level=1, page=1, top=None)
    paged = lay_out([page(1, line("words", 700))], [cover])
    assert [(block.kind, block.text) for block in paged.blocks] == [("heading", "Cover"), ("paragraph", "")]
    assert paged.lines == ["Cover", "", "words", ""]


def test_each_pdf_page_with_text_is_a_chunk_boundary():
    pages = [page(1, line("one", 700)), page(2), page(3, line("three", 700))]
    paged = lay_out(pages, [])
    assert (paged.lines, paged.walls) == (["one", "", "three", ""], [3])
    assert [origin.page for origin in paged.origins] == [1, 1, 3, 3]


def test_pdf_title_is_stated_or_taken_from_the_largest_lines(subtests):
    lighthouse, manual = "Keeping the lighthouse", "Microsoft Word - Pump manual"
    given = {lighthouse: lighthouse, manual: "Pump manual"}
    generated = (
        "Microsoft Word - report_v2.doc",
        "untitled",
        "Document1",
        "about:blank",
        "file:///C:/x.html",
    )
    for title in (*given, *generated, "C:\\papers\\final.tex", "  \x00 ", ""):
        with subtests.test(case=title):
            assert stated_title({"Title": title}) == given.get(title)
    body = [line(f"text line number {n}", 600 - 14 * n) for n in range(20)]
    heading = [line("A history", 760, height=22), line("of tide mills", 735, height=22)]
    assert printed_title(page(1, *heading, *body)) == "A history of tide mills"
    assert printed_title(page(1, *body)) is None
    assert printed_title(page(1)) is None


def test_empty_information_is_not_kept():
    empty = {"Author": "anonymous", "Subject": "unspecified", "CreationDate": "x"}
    assert stated_metadata({**empty, "Keywords": " tides, mills "}, 3) == {
        "keywords": "tides, mills",
        "pages": 3,
    }
