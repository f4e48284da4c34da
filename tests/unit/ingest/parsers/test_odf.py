"""OpenDocument and RTF files: written by LibreOffice, and damaged."""

import io
import zipfile

import pytest

from ingest.parsers.errors import ParseRefused
from ingest.parsers.office import package
from ingest.parsers.registry import parse
from tests.support.samples import content_of
from tests.unit.ingest.parsers.test_office import SIGNALS_TABLE, blocks_of, parse_sample

SPACES = (
    " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
        for name, space in [
            ("office", "office"),
            ("text", "text"),
            ("table", "table"),
            ("style", "style"),
            ("draw", "drawing"),
            ("svg", "svg-compatible"),
            ("chart", "chart"),
            ("presentation", "presentation"),
        ]
    )
    + ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
)
MIME = "application/vnd.oasis.opendocument.text"


def packed(body, *, kind="text", mime=MIME, styles="", parts=()):
    """Return an OpenDocument file with this body."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", mime)
        content = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
        archive.writestr(
            "content.xml", f"<office:document-content {SPACES}>{content}</office:document-content>"
        )
        archive.writestr("styles.xml", f"<office:document-styles {SPACES}>{styles}</office:document-styles>")
        for name, part in parts:
            archive.writestr(name, part)
    return file.getvalue()


def lines_of(content, path="a.odt"):
    return [line for line in parse(content, path).outline.lines if line]


def test_text_of_libreoffice_is_read_block_by_block():
    document = parse_sample("handbook.odt")
    assert blocks_of(document)[:7] == [
        ("heading", 1, "Lighthouse keeper's handbook"),
        ("paragraph", 0, "Every keeper signs this page before the first watch."),
        ("heading", 2, "The lamp"),
        ("paragraph", 0, "The lamp burns colza oil; trim the wick every four hours."),
        ("heading", 3, "Cleaning the lens"),
        ("paragraph", 0, "Use spirit of wine and a linen cloth,\nnever wool."),
        ("list", 0, "- Dust the prisms first\n- Polish from the top\n  - wear the apron"),
    ]
    assert ("table", 0, SIGNALS_TABLE) in blocks_of(document)
    assert blocks_of(document)[-1] == ("list", 0, "Colza is pressed from rape seed.")
    assert (document.title, document.media, document.parser) == (
        "Lighthouse keeper's handbook",
        "office",
        "odf",
    )
    assert document.metadata["author"] == "Grace Darling"
    assert document.metadata["modified"] == "2024-05-17T16:45:00"


def test_sheets_and_slides_of_libreoffice_are_pages():
    sheets = parse_sample("tides.ods")
    assert [block[2] for block in blocks_of(sheets) if block[0] == "heading"] == ["High water", "Keepers"]
    assert sheets.outline.lines[2] == "Day | Harbour | Metres"
    slides = parse_sample("signals.odp")
    headings = [block[2] for block in blocks_of(slides) if block[0] == "heading"]
    assert headings == ["Building Skerryvore", "The optics", "Slide 3"]
    assert "Notes: Mention the storm that took the first barrack." in slides.outline.lines
    assert {origin.page for origin in slides.outline.origins} == {1, 2, 3}


def test_rich_text_of_libreoffice_has_headings_tables_and_properties():
    document = parse_sample("handbook.rtf")
    headings = [block[2] for block in blocks_of(document) if block[0] == "heading"]
    assert headings == ["The lamp", "Cleaning the lens", "Fog signals"]
    assert ("table", 0, SIGNALS_TABLE) in blocks_of(document)
    assert (document.title, document.metadata["author"]) == ("Lighthouse keeper's handbook", "Grace Darling")
    cut = parse(content_of("office/handbook.rtf")[:12_000], "a.rtf")
    assert any("colza oil" in line for line in cut.outline.lines)
    cyrillic = rb"{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8\'f7\'e0\'eb \u8212? 7}"
    assert lines_of(cyrillic, "a.rtf") == ["Причал — 7"]


def test_notes_and_headings_of_other_languages_are_read_in_rich_text():
    styles = rb"{\stylesheet{\s1\b T\'edtulo 2;}}"
    note = rb"{\super{\footnote\ftnalt\pard\plain Since 1838.}}"
    content = (
        rb"{\rtf1\ansi\ansicpg1252" + styles + rb"\pard\s1 Faro\par\pard The lamp" + note + rb" burns.\par}"
    )
    assert [(kind, text) for kind, _, text in blocks_of(parse(content, "a.rtf"))] == [
        ("heading", "Faro"),
        ("paragraph", "The lamp Since 1838. burns."),
    ]


def test_numbers_comments_pictures_and_page_headers_are_read_once():
    styles = (
        '<office:styles><text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>'
        '</text:outline-style><text:list-style style:name="L"><text:list-level-style-number text:level="1"'
        ' style:num-format="a" style:num-suffix=")"/></text:list-style></office:styles><office:master-styles>'
        "<style:master-page><style:header><text:p>Harbour office</text:p></style:header><style:footer>"
        "<text:p>Page <text:page-number>1</text:page-number></text:p></style:footer></style:master-page>"
        "<style:master-page><style:header><text:p>Harbour office</text:p></style:header></style:master-page>"
        "</office:master-styles>"
    )
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        '<text:h text:outline-level="1">Berths</text:h><text:h text:outline-level="2">North</text:h>'
        "<text:p>Deep<text:s/>water.<office:annotation><dc:creator>Ann</dc:creator><text:p>How deep?</text:p>"
        "</office:annotation><draw:frame><svg:desc>Plan of the quay</svg:desc></draw:frame></text:p>"
        '<text:list text:style-name="L"><text:list-item><text:p>hemp</text:p></text:list-item>'
        "<text:list-item><text:p>wire</text:p></text:list-item></text:list>"
    )
    assert lines_of(packed(body, styles=styles)) == [
        "1 Berths",
        "1.1 North",
        "Deep water.",
        "Comment by Ann: How deep?",
        "[Plan of the quay]",
        "a) hemp",
        "b) wire",
        "Headers and footers",
        "Harbour office",
    ]


def list_level(level, form, shown=1, before="", after=""):
    return (
        f'<text:list-level-style-number text:level="{level}" style:num-format="{form}"'
        f' text:display-levels="{shown}" style:num-prefix="{before}" style:num-suffix="{after}"/>'
    )


def test_numbers_of_nested_and_continued_lists_and_of_headings_in_them():
    levels = list_level(1, "1", after=".") + list_level(2, "1", shown=2) + list_level(3, "i", 1, "(", ")")
    styles = f'<office:styles><text:list-style style:name="L">{levels}</text:list-style></office:styles>'

    def item(*inner):
        return f"<text:list-item>{''.join(inner)}</text:list-item>"

    def inner(*items):
        return f"<text:list>{''.join(items)}</text:list>"

    deep = item("<text:p>Deep</text:p>", "<text:p>still the first</text:p>")
    shallow = item("<text:p>Shallow</text:p>", inner(item("<text:p>mud</text:p>")))
    first = item('<text:h text:outline-level="1">Berths</text:h>', inner(deep, shallow))
    second = item(inner(item("<text:p>Tidal</text:p>")))
    other = item("<text:p>anew</text:p>")
    body = (
        f'<text:list text:style-name="L">{first}</text:list><text:p>Between.</text:p>'
        f'<text:list text:style-name="L" text:continue-numbering="true">{second}</text:list>'
        f'<text:list text:style-name="L">{other}</text:list>'
    )
    assert lines_of(packed(body, styles=styles)) == [
        *("1. Berths", "  1.1 Deep", "    still the first", "  1.2 Shallow", "    (i) mud", "Between."),
        *("  1.3 Tidal", "1. anew"),
    ]


CHART = (
    f"<office:document-content {SPACES}><office:body><office:chart><chart:chart><chart:title>"
    "<text:p>Ships by month</text:p></chart:title><table:table><table:table-rows><table:table-row>"
    "<table:table-cell><text:p>March</text:p></table:table-cell><table:table-cell><text:p>12</text:p>"
    "</table:table-cell></table:table-row></table:table-rows></table:table></chart:chart></office:chart>"
    "</office:body></office:document-content>"
)
EQUATION = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mfrac><mi>s</mi><mi>t</mi></mfrac>'
    "<mo>=</mo><msub><mi>v</mi><mn>0</mn></msub></mrow><annotation>s over t</annotation></semantics>"
    "</math>"
)
DRAWN = '<draw:frame svg:y="{}cm"><draw:object xlink:href="./{}"/><draw:image xlink:href="x"/></draw:frame>'


def test_boxes_charts_and_equations_follow_their_paragraph_once():
    box = "<draw:frame><draw:text-box><text:p>in the box</text:p></draw:text-box></draw:frame>"
    body = f"<text:p>Notes\n  of {box} today{DRAWN.format(0, 'O1')}{DRAWN.format(0, 'O2')}</text:p>"
    parts = [("O1/content.xml", EQUATION), ("O2/content.xml", CHART)]
    expected = ["Notes of  today", "in the box", "s/t=v_0", "Ships by month", "March | 12"]
    assert lines_of(packed(body, parts=parts)) == expected


def test_cells_are_read_as_shown_with_what_stands_beside_them():
    day = '<table:table-cell office:value-type="date" office:date-value="2026-03-01"><text:p>1.3.26</text:p>'
    note = "<office:annotation><dc:creator>Ann</dc:creator><text:p>unpaid</text:p></office:annotation>"
    link = '<text:p><text:a xlink:href="https://example.org/skua">Skua</text:a></text:p>'
    total = '<table:table-cell table:formula="of:=SUM([.B2:.B3])"/>'
    row = f"{day}</table:table-cell><table:table-cell>{note}{link}</table:table-cell>{total}"
    cell = f"<table:table-cell>{DRAWN.format(0, 'O2')}</table:table-cell>"
    body = (
        '<table:table table:name="Log"><table:table-row table:number-rows-repeated="3"><table:table-cell/>'
        f"</table:table-row><table:table-row>{row}{cell}</table:table-row></table:table>"
    )
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    content = packed(body, kind="spreadsheet", mime=mime, parts=[("O2/content.xml", CHART)])
    assert lines_of(content, "a.ods") == [
        *("Log", "2026-03-01 | Skua | =SUM(B2:B3)", "Comment by Ann on B4: unpaid"),
        *("Link in B4: https://example.org/skua", "Chart: Ships by month"),
    ]


def test_shapes_of_a_slide_are_read_by_their_places_and_notes_last():
    def frame(text, y, kind=""):
        shown = f' presentation:class="{kind}"' if kind else ""
        inner = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
        return f'<draw:frame svg:y="{y}cm" svg:x="1cm"{shown}>{inner}</draw:frame>'

    note = "<office:annotation><text:p>too long</text:p></office:annotation>"
    notes = f"<presentation:notes>{frame('speak up', 0, 'notes')}</presentation:notes>"
    group = f"<draw:g><svg:desc>Two buoys</svg:desc>{frame('red', 4)}</draw:g>"
    shown = frame("last", 9) + group + frame("Buoys", 1, "title") + frame("7", 12, "page-number")
    shown += frame("for the crew", 12, "footer")
    body = f"<draw:page>{note}{notes}{shown}{DRAWN.format(6, 'O2')}</draw:page>"
    mime = "application/vnd.oasis.opendocument.presentation"
    content = packed(body, kind="presentation", mime=mime, parts=[("O2/content.xml", CHART)])
    assert lines_of(content, "a.odp") == [
        *("Buoys", "red", "[Two buoys]", "Ships by month", "March | 12", "last"),
        *("Comment: too long", "Notes: speak up"),
    ]
    assert [(each.kind, each.amount) for each in parse(content, "a.odp").omissions] == [("repeated_lines", 1)]


def test_deleted_text_is_left_out_and_told():
    region = "<text:changed-region><text:deletion><text:p>gone</text:p></text:deletion></text:changed-region>"
    content = packed(f"<text:tracked-changes>{region}</text:tracked-changes><text:p>here</text:p>")
    assert lines_of(content) == ["here"]
    assert [(each.kind, each.amount) for each in parse(content, "a.odt").omissions] == [("deleted_text", 4)]


def test_workbook_too_large_for_a_tree_is_refused_as_such(monkeypatch):
    monkeypatch.setattr(package, "MAX_TREE_BYTES", 100)
    with pytest.raises(ParseRefused) as refused:
        parse(packed("<text:p>words</text:p>"), "a.odt")
    assert refused.value.code == "too_large"


def test_repeated_rows_and_cells_are_bounded():
    cell = '<table:table-cell table:number-columns-repeated="1000000"><text:p>x</text:p></table:table-cell>'
    row = f"<table:table-row>{cell}</table:table-row>"
    empty = '<table:table-row table:number-rows-repeated="1048576"><table:table-cell/></table:table-row>'
    body = f'<table:table table:name="S">{row}{empty}</table:table>'
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    heading, line = lines_of(packed(body, kind="spreadsheet", mime=mime), "a.ods")
    assert (heading, line.count("x")) == ("S", 1_000)


def test_flat_file_is_read_like_a_packed_one():
    flat = (
        f"<office:document {SPACES}><office:body><office:text><text:p>Deep water.</text:p></office:text>"
        "</office:body></office:document>"
    )
    assert lines_of(flat.encode(), "a.fodt") == ["Deep water."]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (packed("<text:p>cut</text:p>")[:300], "damaged"),
        (packed("<text:p>&bomb;</text:p>"), "damaged"),
        (packed("<text:p>" * 300 + "</text:p>" * 300), "damaged"),
        (f"<!DOCTYPE a [<!ENTITY b 'c'>]><office:document {SPACES}/>".encode(), "xml_entities"),
        (b"PK\x03\x04", "damaged"),
    ],
)
def test_damaged_and_hostile_files_are_refused(content, code):
    with pytest.raises(ParseRefused) as refused:
        parse(content, "a.fodt" if content.startswith(b"<") else "a.odt")
    assert refused.value.code == code


def test_targets_of_links_follow_their_paragraph():
    link = '<text:p>Ask <text:a xlink:href="{}">{}</text:a></text:p>'
    body = link.format("https://example.org/desk", "the desk") + link.format("#here", "here")
    assert lines_of(packed(body)) == ["Ask the desk", "Link: the desk (https://example.org/desk)", "Ask here"]
