"""Workbooks: numbers as shown, formulas, and what stands beside the cells."""

import datetime
import io
import zipfile

import pytest
import xlsxwriter
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.worksheet.formula import ArrayFormula

from ingest.parsers.office.number_formats import format_day, format_duration, format_number, format_text
from ingest.parsers.registry import parse
from tests.support.archives import zip_of


def read(workbook):
    file = io.BytesIO()
    workbook.save(file)
    return [line for line in parse(file.getvalue(), "a.xlsx").outline.lines if line]


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (73, "00000", "00073"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1234.5, '#,##0.00\\ "€"', "1,234.50 €"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (-1234.5, "#,##0.00", "-1,234.50"),
        (-5, "#,##0.00;[Red](#,##0.00)", "(5.00)"),
        (0, '0;-0;"none"', "none"),
        (-0.001, "0.00", "0.00"),
        (1234.5, "_-* #,##0.00\\ _€_-;\\-* #,##0.00\\ _€_-", "1,234.50"),
        (0.256, "0.0%", "25.6%"),
        (1234567, '0.0,,"M"', "1.2M"),
        (5551234, "000-0000", "555-1234"),
        (3.0, "0.##", "3"),
        (0.00012, "0.0E+00", "1.2E-04"),
        (1.5, "# ?/?", "1 1/2"),
        (7, '"No. "000', "No. 007"),
        (7, "General", None),
        (7, '[>5]"many";0', "many"),
        (4, '[>5]"many";0', "4"),
        (5551234, "[<=9999999]000-0000;(000) 000-0000", "555-1234"),
        (25, '0"%"', "25%"),
        (3, 'General" boats"', "3 boats"),
        (45000, "yyyy-mm-dd", None),
    ],
)
def test_number_is_shown_as_its_format_says(value, code, shown):
    assert format_number(value, code) == shown


def test_text_is_shown_as_its_format_says():
    assert format_text("Skua", '0;0;0;"Ship "@') == "Ship Skua"
    assert format_text("Skua", "@") == format_text("Skua", "0.00") == "Skua"


def test_duration_has_more_than_24_hours():
    day = datetime.timedelta(hours=30, seconds=5)
    assert format_duration(day, "[h]:mm") == "30:00"
    assert format_duration(day, "[h]:mm:ss") == "30:00:05"
    assert format_duration(-day, "[mm]:ss") == "-1800:05"


def test_cells_are_read_as_they_are_shown_with_what_stands_beside_them():
    workbook = Workbook()
    sheet = workbook.active
    sheet.title = "Berths"
    sheet.append(["Berth", "Fee", "Total"])
    sheet.append([12, 80.5, "=B2*2"])
    sheet.append(["north_x000A_quay", datetime.date(2026, 3, 1), True])
    sheet["A2"].number_format, sheet["B2"].number_format = "0000", '0.00 "kr"'
    sheet["B2"].comment = Comment("Doubled in ice", "Ann")
    sheet["D2"] = ArrayFormula("D2:D3", "=SUM(A2:B3)")
    sheet["B1"].hyperlink = "#Berths!A1"
    sheet["A3"].hyperlink = "https://example.org/berths"
    chart = BarChart()
    chart.title = "Fees by berth"
    chart.add_data(Reference(sheet, min_col=2, min_row=2, max_row=2))
    sheet.add_chart(chart, "F1")
    assert read(workbook) == [
        "Berths",
        "Berth | Fee | Total",
        "0012 | 80.50 kr | =B2*2 | =SUM(A2:B3)",
        "north quay | 2026-03-01 | TRUE",
        "Note by Ann on B2: Doubled in ice",
        "Link in A3: https://example.org/berths",
        "Chart: Fees by berth",
    ]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("d mmmm yyyy", "9 March 2026"),
        ("mmm-yy", "Mar-26"),
        ("[$-409]dddd\\, mmm dd\\, yyyy;@", "Monday, Mar 09, 2026"),
        ("d mmm yyyy h:mm", "9 Mar 2026"),
        ("yyyy-mm-dd", ""),
        ("mm:ss", ""),
        ('"mmm" yyyy', ""),
    ],
)
def test_date_that_names_its_month_is_also_as_shown(code, shown):
    assert format_day(datetime.date(2026, 3, 9), code) == shown


def test_boxes_forms_and_page_headers_follow_the_rows():
    file = io.BytesIO()
    workbook = xlsxwriter.Workbook(file, {"in_memory": True})
    sheet = workbook.add_worksheet("Plan")
    sheet.write_datetime(
        0, 0, datetime.datetime(2026, 3, 9), workbook.add_format({"num_format": "d mmmm yyyy"})
    )
    sheet.insert_textbox("D2", "Ask the committee")
    sheet.insert_button("F2", {"caption": "Send"})
    sheet.set_header('&L&"Arial,Bold"&14Rota && plan&R&D')
    sheet.set_footer("Page &P of &N")
    workbook.close()
    assert [line for line in parse(file.getvalue(), "a.xlsx").outline.lines if line] == [
        *("Plan", "2026-03-09 (9 March 2026)", "Header: Rota & plan", "Send", "Ask the committee")
    ]


VML = """<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:x="urn:schemas-microsoft-com:office:excel">
<v:shape><v:textbox><div>Paid<br></div></v:textbox><x:ClientData ObjectType="Checkbox">
<x:Checked>1</x:Checked></x:ClientData></v:shape>
<v:shape><v:textbox>Sent</v:textbox><x:ClientData ObjectType="Radio"/></v:shape></xml>"""


def test_check_boxes_have_their_states():
    file = io.BytesIO()
    workbook = xlsxwriter.Workbook(file, {"in_memory": True})
    workbook.add_worksheet("Form").insert_button("F2", {"caption": "Send"})
    workbook.close()
    with zipfile.ZipFile(file) as source:
        parts = {name: VML if name.endswith(".vml") else source.read(name) for name in source.namelist()}
    lines = [line for line in parse(zip_of(parts), "a.xlsx").outline.lines if line]
    assert lines == ["Form", "☒ Paid", "☐ Sent"]


def test_cells_of_a_wide_sheet_have_the_names_of_their_columns():
    workbook = Workbook()
    sheet = workbook.active
    sheet.append(["vessel", *(f"attribute {n}" for n in range(40))])
    for hull in ("Skua", "Tern"):
        sheet.append([hull, *(f"{hull} {n}" for n in range(40))])
    rows = read(workbook)[2:]
    assert all(row.startswith(("vessel: Skua | ", "vessel: Tern | ")) and len(row) <= 300 for row in rows)
    assert sum("attribute 39: Tern 39" in row for row in rows) == 1
