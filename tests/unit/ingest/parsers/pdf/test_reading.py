"""Words of PDF pages as a person reads them: accents, notes, turned text, cells, sentences, links."""

from ingest.parsers.registry import parse
from tests.support.pdf_files import Page, pdf_of, rows
from tests.support.samples import content_of

LINK = "<</Type/Annot/Subtype/Link/Rect[{}]/A<</S/URI/URI({})>>>>"


def text_object(operators):
    return f"BT /F1 10 Tf 50 700 Td {operators} ET"


def lines_of(*pages):
    return [line for line in parse(pdf_of(*pages), "a.pdf").outline.lines if line]


def test_accents_join_the_letter_that_they_are_drawn_over(subtests):
    for operators, text in [
        (r"[(Universit) (\264) 388 (e de Montr) (\264) 388 (eal)] TJ", "Université de Montréal"),
        (r"[(J) (\250) 416 (org M) (\250) 416 (uller)] TJ", "Jörg Müller"),
        (r"[(Fran) (c) 416 (\270) (ais)] TJ", "Français"),
        (r"[(Universite)] TJ 39.9 0 Td (\264) Tj 8 0 Td (de Paris) Tj", "Université de Paris"),
        (r"(The ) Tj 18.9 2.5 Td (\264) Tj 0 -2.5 Td (Ecole) Tj", "The École"),
        (r"(a \264 b, x^2, `so' and ~ 5 or 90\260e) Tj", "a ´ b, x^2, `so' and ~ 5 or 90°e"),
    ]:
        with subtests.test(case=text):
            assert lines_of(Page(operators=text_object(operators))) == [text]


def test_marks_of_notes_stand_apart_from_words(subtests):
    raised = "/F1 6 Tf 4 Ts ({}) Tj /F1 10 Tf 0 Ts"
    for before, mark, after, text in [
        ("the harbour", "1", " was old", "the harbour 1 was old"),
        ("the harbour.", "12", " It", "the harbour. 12 It"),
        ("of Smith", "1,3", ", Olsen", "of Smith 1,3, Olsen"),
        ("a harbour", "7", "was there", "a harbour 7 was there"),
        ("", "4", "Its walls", "4 Its walls"),
        ("25 m", "2", " and CO", "25 m2 and CO"),
        ("see section", "", "4 of B12 and MP3", "see section4 of B12 and MP3"),
        ("the harbour\\271", "", " was", "the harbour ¹ was"),
    ]:
        with subtests.test(case=text):
            operators = text_object(f"({before}) Tj {raised.format(mark) if mark else ''} ({after}) Tj")
            assert lines_of(Page(operators=operators)) == [text]


def test_turned_table_is_read_apart_from_upright_text():
    cells = (
        ("Station", "High water", "Low water"),
        ("Odde", "05:12 or 17:40", "11:20"),
        ("Vik", "05:47", "11:58"),
    )
    table = "".join(
        f"BT /F1 10 Tf 0 1 -1 0 {200 + 16 * row} {100 + 140 * column} Tm ({text}) Tj ET\n"
        for row, texts in enumerate(cells)
        for column, text in enumerate(texts)
    )
    above = "Appendix C lists the tide tables of the outer harbour."
    page = Page(lines=[(50, 780, above)], operators=table + "BT /F1 10 Tf 290 30 Td (C) Tj ET")
    assert lines_of(page) == [above, "C", *(" ".join(row) for row in cells)]


def test_lines_of_a_cell_are_joined(subtests):
    wide = """Item|Amount|Notes
        Coolant|18 litres, to be|Premium yellow
        pump|refilled in autumn|antifreeze
        Hydraulic|6 litres per|Mineral oil grade
        lift|cylinder pair|forty-six"""
    joined = [
        "Item Amount Notes",
        "Coolant pump 18 litres, to be refilled in autumn Premium yellow antifreeze",
        "Hydraulic lift 6 litres per cylinder pair Mineral oil grade forty-six",
    ]
    sparse = """Berth|Keeper|Since
        Inner basin|Anna Ekstrand of|1901
        |the old pier|
        Outer mole with|Olaf Berg|1899
        its beacon||
        Mill|Ruth Carr|1907"""
    names = "Name|Rank\nanna ek|pilot\nben olsen|cook\ncarl berg|smith"
    sums = "north|4 m\nsouth|6 m\n|7 m\neast|2 m"
    for name, table, heights, expected in [
        ("rows apart", wide, [740, 720, 706, 682, 668], joined),
        ("one pitch", wide, [740, 726, 712, 698, 684], joined),
        (
            "single cells",
            sparse,
            [740, 726, 712, 698, 684, 670],
            [
                "Berth Keeper Since",
                "Inner basin Anna Ekstrand of the old pier 1901",
                "Outer mole with its beacon Olaf Berg 1899",
                "Mill Ruth Carr 1907",
            ],
        ),
        ("names", names, [740, 720, 706, 692], names.replace("|", " ").split("\n")),
        ("sums", sums, [740, 726, 712, 684], ["north 4 m", "south 6 m", "7 m", "east 2 m"]),
    ]:
        with subtests.test(case=name):
            lines = [
                (60 + 120 * column, height, text)
                for height, row in zip(heights, table.split("\n"), strict=True)
                for column, text in enumerate(row.strip().split("|"))
                if text
            ]
            assert lines_of(Page(lines=lines)) == expected


def test_sentence_over_the_end_of_a_page_is_read_whole(subtests):
    body = [
        "The harbour master kept three books until the pier burned",
        "in the dry summer. Only the third was saved by a boy of the",
    ]
    for name, foot, beginning, moved in [
        ("small letter", "", ["tower, where it lay open. The mill stands."], "tower, where it lay open."),
        (
            "capital",
            "",
            ["Brandholm tower, where it lay open", "to the wind. The mill stands."],
            "to the wind.",
        ),
        (
            "a note",
            "1 See the second book.",
            ["tower, where it lay open. The mill stands."],
            "tower, where it lay open.",
        ),
        ("heading", "", ["Night alarms"], ""),
    ]:
        with subtests.test(case=name):
            note = f"BT /F1 7 Tf 50 60 Td ({foot}) Tj ET"
            head = (50, 820, "The harbour report")
            pages = (
                Page(lines=[head, *rows(50, 780, body), (290, 30, "1")], operators=note),
                Page(lines=[head, *rows(50, 780, beginning), (290, 30, "2")]),
            )
            document = parse(pdf_of(*pages), "a.pdf")
            places = {
                line: document.source_span(n, n).page for n, line in enumerate(document.outline.lines, 1)
            }
            assert places["The mill stands." if moved else "Night alarms"] == 2
            assert not moved or places[moved] == 1


def test_targets_of_links_are_kept_unless_the_page_shows_them():
    pages = [
        Page(
            lines=[(50, 780, "Apply for a permit"), (50, 760, "or see www.harbour.example/fees.")],
            annotations=[
                LINK.format("50 775 140 792", "https://harbour.example/permit-7714"),
                LINK.format("50 755 200 772", "https://www.harbour.example/fees/"),
                LINK.format("300 10 400 20", "mailto:desk@harbour.example"),
                "<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/GoTo/D[1000 0 R/Fit]>>>>",
            ],
        ),
        Page(
            lines=[(50, 780, "Second page")],
            annotations=[LINK.format("300 10 400 20", "mailto:desk@harbour.example")],
        ),
    ]
    assert lines_of(*pages) == [
        "Apply for a permit",
        "or see www.harbour.example/fees.",
        "Link: Apply for a permit (https://harbour.example/permit-7714)",
        "Link: mailto:desk@harbour.example",
        "Second page",
    ]


def test_pdf_is_found_behind_other_bytes(subtests):
    plain, binary = pdf_of(Page(lines=[(50, 780, "Kept words")])), content_of("pdf/printed.pdf")
    for before in (
        b"\xef\xbb\xbf",
        b"\r\n\r\n",
        b"Content-Type: application/pdf\r\nX-Mail: a\r\n\r\n",
        b"x" * 1_000,
    ):
        for path in ("a.pdf", "file"):
            with subtests.test(case=before[:9], path=path):
                assert "Kept words" in parse(before + plain, path).outline.lines
                assert parse(before + binary, path).parser == "pdf"
    assert parse(b"# On files\n\nA PDF begins with %PDF-1.7, then 1 0 obj.\n", "a.md").parser == "markdown"
