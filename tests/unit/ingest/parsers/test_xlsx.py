"""Workbooks: numbers as shown, formulas, and what stands beside the cells."""

import datetime
import io

import pytest
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.worksheet.formula import ArrayFormula

from ingest.parsers.office.number_formats import format_duration, format_number, format_text
from ingest.parsers.registry import parse


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
