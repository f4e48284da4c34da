"""Reading order of pages with columns, side bars and tables, and lines that pdfium divides or joins."""

import textwrap

import pytest

from ingest.parsers.registry import parse
from tests.support.pdf_files import Page, across, pdf_of, rows

LEFT = (
    "The harbour master kept three books: one for the ships that came, one for those that left, and a "
    "third for the weather, which he wrote before dawn. When the pier burned in the dry summer, only the "
    "third was saved, since it lay open on the sill of the tower and somebody threw it into the sea, "
    "where a boat picked it up the next day."
)
RIGHT = (
    "Oysters were planted on the flats below the mill by a company of five families. They paid the town a "
    "rent of four barrels a year and were allowed to set stakes along the channel. The stakes are still "
    "there at low water and mark the edge of the bank, although nobody has planted anything between them "
    "since the great frost."
)
THIRD = (
    "Salt was boiled in flat pans under long roofs, and the smoke could be seen from the hills behind the "
    "town on every day without wind. A pan gave two bushels a week in summer and half as much in winter, "
    "when the brine was weak and the peat was wet, so that most of the boilers went to sea from "
    "Michaelmas to Easter."
)


def wrapped(text, width=42):
    return textwrap.wrap(text, width)


def text_of(*lines, **fields):
    document = parse(pdf_of(Page(lines=lines, **fields)), "a.pdf")
    return " ".join(" ".join(document.outline.lines).split())


def test_columns_that_were_set_row_by_row_are_read_one_after_the_other(subtests):
    left, right = wrapped(LEFT), wrapped(RIGHT)
    for name, second in {
        "level": rows(310, 780, right),
        "with other baselines": rows(310, 776, right),
    }.items():
        with subtests.test(case=name):
            assert text_of(*across(rows(50, 780, left), second)) == f"{LEFT} {RIGHT}"
    with subtests.test(case="with paragraphs"):
        indented = rows(50, 780, left)
        indented[3] = (62, indented[3][1], indented[3][2])
        assert text_of(*across(indented, rows(310, 780, right))) == f"{LEFT} {RIGHT}"
    with subtests.test(case="three"):
        columns = [rows(x, 780, wrapped(text, 27)) for x, text in ((40, LEFT), (215, RIGHT), (390, THIRD))]
        assert text_of(*across(*columns)) == f"{LEFT} {RIGHT} {THIRD}"
    with subtests.test(case="a side bar"):
        main, side = rows(50, 780, wrapped(LEFT, 60)), rows(430, 780, wrapped(RIGHT, 20))
        assert text_of(*across(main, side)) == f"{LEFT} {RIGHT}"


def test_lines_across_divide_columns():
    title, caption = "Three trades of the old town and the people who lived by them", "Plate 2. " + LEFT[:79]
    upper = across(rows(50, 750, wrapped(LEFT)), rows(310, 750, wrapped(RIGHT)))
    lower = across(rows(50, 450, wrapped(THIRD)), rows(310, 450, wrapped(LEFT)))
    text = text_of((50, 790, title), *upper, (50, 500, caption), *lower)
    assert text == " ".join([title, LEFT, RIGHT, caption, THIRD, LEFT])


def test_figure_without_caption_divides_columns():
    upper = across(rows(50, 780, wrapped(LEFT)), rows(310, 780, wrapped(RIGHT)))
    lower = across(rows(50, 400, wrapped(THIRD)), rows(310, 400, wrapped(LEFT)))
    assert text_of(*upper, *lower) == " ".join([LEFT, RIGHT, THIRD, LEFT])


def test_columns_that_were_set_in_order_stay():
    assert text_of(*rows(50, 780, wrapped(LEFT)), *rows(310, 780, wrapped(RIGHT))) == f"{LEFT} {RIGHT}"


TABLES = {
    "numbers": [
        ("Basin", "Depth", "Area"),
        ("North", "4 m", "300"),
        ("South", "6 m", "1,200"),
        ("Mill", "2 m", "80"),
    ],
    "names": [
        (f"Berth number {n}", f"Captain {name} Olsen", "paid in full") for n, name in enumerate("ABCDEF")
    ],
    "definitions": [
        ("bollard", "a post on the quay to which a ship is made fast"),
        ("fender", "a bundle of rope between a ship and the quay"),
        ("hawser", "a thick rope for towing a ship or mooring it"),
        ("thwart", "a seat across an open boat for a man who rows"),
        ("painter", "a rope at the bow by which a boat is made fast"),
    ],
    "questions": [
        ("Who pays for the water?", "Every ship by the barrel."),
        ("Is the gate open at night?", "Only for boats with fish."),
        ("Where is the ice kept?", "In the cellar below the mill."),
        ("May dogs run on the pier?", "On a lead, and not in June."),
        ("When is the market?", "On Friday from six to noon."),
    ],
    "dates": [(f"{n} March 1901", f"wind from the north, force {n}, and rain") for n in range(3, 9)],
    "fields": [
        ("Name:", "Ruth Carr"),
        ("Rank:", "second keeper"),
        ("Since:", "May 1899"),
        ("Boat:", "a cutter"),
    ],
    "contents": [(f"{n}. On the trade of salt and of fish", str(n * 7)) for n in range(1, 8)],
}


@pytest.mark.parametrize("name", TABLES)
def test_row_of_a_table_reads_across(name):
    table = TABLES[name]
    columns = [rows(50 + 170 * number, 780, cells) for number, cells in enumerate(zip(*table, strict=True))]
    document = parse(pdf_of(Page(lines=across(*columns))), "a.pdf")
    assert [line for line in document.outline.lines if line] == [" ".join(row) for row in table]
    assert [block.kind for block in document.outline.blocks] == ["table"]


def test_justified_text_and_lists_are_not_read_as_tables():
    ends = [
        "the bank",
        "a ship",
        "is near",
        "of it all",
        "two men",
    ]  # flush on the right, far from the words before
    justified = [
        piece
        for n, end in enumerate(ends)
        for piece in ((50, 780 - 13 * n, f"{'and' * (n + 1)} then"), (300 - 5 * len(end), 780 - 13 * n, end))
    ]
    listed = [item for n in range(6) for item in ((50, 500 - 13 * n, "*"), (66, 500 - 13 * n, f"point {n}"))]
    document = parse(pdf_of(Page(lines=[*justified, *listed])), "a.pdf")
    assert {block.kind for block in document.outline.blocks} == {"paragraph"}


def test_page_that_is_turned_is_read_like_any_other():
    lines = across(rows(50, 780, wrapped(LEFT)), rows(310, 780, wrapped(RIGHT)))
    for rotation in (0, 90, 180, 270):
        assert text_of(*lines, rotation=rotation) == f"{LEFT} {RIGHT}"
        for turn in ("0 1 -1 0 842 0", "-1 0 0 -1 595 842", "0 -1 1 0 0 842"):
            is_arabic = turn.startswith("-1") and rotation != 180
            text = text_of(*lines, rotation=rotation, turn=turn, box="0 0 842 842")
            assert is_arabic or text == f"{LEFT} {RIGHT}"


def test_letters_set_apart_are_words(subtests):
    for shown, text in [
        ("A N N U A L   R E P O R T", "ANNUAL REPORT"),
        ("M i n u t e s", "Minutes"),
        ("A B C D E", "A B C D E"),
        ("a + b = c", "a + b = c"),
        ("Plan B or C", "Plan B or C"),
    ]:
        with subtests.test(case=shown):
            assert text_of((50, 780, shown)) == text


def test_words_divided_at_line_ends(subtests):
    for lines, text in [
        (["Read https://exa-", "mple.org/salt first."], "https://exa-mple.org/salt first."),
        (["See https://example.org/", "salt/pans for it."], "https://example.org/salt/pans for it."),
        (["It is a well-", "known place."], "a well-known place."),
        (["Der Konto-", "auszug kam per E-", "Mail."], "Der Kontoauszug kam per E-Mail."),
        (["Die Haupt-", "und Nebenstelle"], "Die Haupt- und Nebenstelle"),
        (["the shipping com-", "pany of the town"], "the shipping company of the town"),
    ]:
        with subtests.test(case=lines[0]):
            assert text_of(*rows(50, 780, lines)).endswith(text)
    long, short = "The clerk wrote down who came and who went on that morn-", "ing, and slept."
    assert f"{long[:-1]}{short}" in text_of(*rows(50, 780, [LEFT[:60], long]), *rows(310, 780, [short]))


def test_pages_of_many_pieces_are_read_in_time():
    scattered = [(20 + 37 * n % 500, 20 + 53 * n % 800, f"w{n}") for n in range(8_000)]
    assert "w7999" in text_of(*scattered)
    dashes = [(50, 840 - n / 10, "a-") for n in range(8_000)]
    assert text_of(*dashes).startswith("a")
