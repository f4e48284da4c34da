"""Text of PDFs that is in no language, hidden, outside of the page or a picture: left out and reported."""

import zlib

import pytest

from ingest.parsers.images.ocr import PictureLine
from ingest.parsers.pdf import parse as pdf_parse
from ingest.parsers.pdf.legible import legible_text
from ingest.parsers.pdf.page_objects import has_layers
from ingest.parsers.registry import parse
from tests.support.pdf_files import Page, pdf_of, rows, stream

ENGLISH = (
    "The tariff of the grain wharf is payable in silver.",
    "Ships from the southern ports pay half of it until the thaw.",
    "The clerk keeps the receipts for seven years.",
)
#: a picture of one pixel, drawn over the whole page and over a corner of it
PICTURE = stream(
    "\x80", "/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray"
)
WHOLE_PAGE, CORNER = "q 595 0 0 842 0 0 cm /I1 Do Q", "q 200 0 0 100 0 0 cm /I1 Do Q"
#: a font whose codes are numbers of glyphs, with and without a map to characters
FONT = "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[11 0 R]{}>>"
GLYPHS = {
    11: "<</Type/Font/Subtype/CIDFontType2/BaseFont/A/FontDescriptor 12 0 R/DW 500"
    "/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>",
    12: "<</Type/FontDescriptor/FontName/A/Flags 4/FontBBox[0 -200 1000 800]/ItalicAngle 0/Ascent 800"
    "/Descent -200/CapHeight 700/StemV 80>>",
}


@pytest.fixture(autouse=True)
def _without_ocr(monkeypatch):
    monkeypatch.setattr(pdf_parse, "is_ocr_installed", lambda: False)


def with_font(code_of, entries="", objects=None, lines=()):
    """Return a page whose words are written as the codes of a font."""
    shown = "\n".join(
        f"BT /F2 10 Tf 50 {700 - 14 * n} Td <{''.join(f'{code_of(ord(each)):04x}' for each in line)}> Tj ET"
        for n, line in enumerate(ENGLISH)
    )
    page = Page(lines=lines, operators=shown, fonts="/F2 10 0 R")
    return pdf_of(page, objects={10: FONT.format(entries), **GLYPHS, **(objects or {})})


def read(content):
    """Return lines and omissions by kind."""
    outline = parse(content, "a.pdf").outline
    return [line for line in outline.lines if line], {each.kind: each.amount for each in outline.omissions}


def text_line(bottom, text):
    return f"BT /F1 10 Tf 50 {bottom} Td ({text}) Tj ET"


def test_codes_that_are_a_moved_alphabet_are_decoded(subtests):
    for move in (-29, -31, 5, 0):
        with subtests.test(case=move):
            assert read(with_font(lambda code, move=move: code + move)) == (list(ENGLISH), {})


def test_codes_of_no_language_are_left_out_and_reported(subtests):
    count = sum(len(line.replace(" ", "")) for line in ENGLISH)
    for name, code_of in {
        "shuffled": lambda code: 33 + code * 37 % 94,
        "glyphs of no order": lambda code: 300 + code * 7 % 400,
    }.items():
        with subtests.test(case=name):
            lines, omissions = read(with_font(code_of, lines=[(50, 780, "Stamped on the ninth of June")]))
            assert lines == ["Stamped on the ninth of June"]
            assert omissions["unreadable_text"] >= 0.9 * count
    for name, target in {"private": "e000", "unknown": "fffd"}.items():
        with subtests.test(case=name):
            to = (
                f"1 beginbfrange <0000><00ff><{target}> endbfrange"
                if name == "private"
                else "".join(f"1 beginbfchar <{code:04x}><fffd> endbfchar " for code in range(128))
            )
            cmap = f"begincmap 1 begincodespacerange <0000><ffff> endcodespacerange {to} endcmap"
            lines, omissions = read(with_font(int, "/ToUnicode 13 0 R", {13: stream(cmap)}))
            assert (lines, list(omissions)) == ([], ["unreadable_text"])


@pytest.mark.parametrize(
    "text",
    [
        "AB-1234 X7-99K 7KH-220 ZX81 QW-4411 RTX3090 M8x40 DIN912 PN-77120-B 4KQ-118 HJ22-K 9XX-KLM " * 3,
        "1,204.50 17.3 % 88 -4.2 3/8 99.00 € (12) 4:30 " * 9,
        "9F 3C 00 7A FF 10 2B C4 D8 E1 5A 66 " * 9,
        "if (x[i] != y[i]) { sum += a[i] * b[i]; } // done\r\n" * 9,
        "ABSTRACT: NO BOAT LEAVES BEFORE DAWN. LYNCH, NG, SMYTH AND WRZYSZCZ KEEP THE KEYS.",
        "Zażółć gęślą jaźń. Statek wpłynął do portu o świcie, a kapitan zapisał pogodę w dzienniku.",
        "Tàu thuyền vào cảng lúc bình minh, thuyền trưởng ghi lại thời tiết và mực nước trong vịnh.",
        "Cyrhaeddodd y llong y porthladd gyda'r wawr ac ysgrifennodd y capten y tywydd yn y llyfr log.",
        "港湾管理者每天早晨记录水位并与潮汐表对照，异常情况必须立即报告。",
        "Судно вошло в порт на рассвете, и капитан записал погоду и уровень воды в журнал.",
        "\uf095 +47 22 11 00 \uf0e0 post@harbour.example",
        "\uf0b7 ropes\r\n\uf0b7 sails",
    ],
)
def test_legitimate_codes_and_languages_are_kept(text):
    assert legible_text(text, lambda _: 0) == (text, 0)


def test_page_of_codes_is_recognised_where_ocr_is_installed(monkeypatch):
    monkeypatch.setattr(pdf_parse, "is_ocr_installed", lambda: True)
    found = [PictureLine(text="The tariff", x=100, y=200, w=300, h=40)]
    monkeypatch.setattr(pdf_parse, "recognise", lambda picture: found)
    assert read(with_font(lambda code: 33 + code * 37 % 94)) == (["The tariff"], {})


def test_page_with_a_stamp_on_its_picture_is_scanned(monkeypatch):
    def page(operators, *texts):
        lines = [(50, 820 - 14 * n, text) for n, text in enumerate(texts)]
        return pdf_of(
            Page(lines=lines, operators=operators, resources="/XObject<</I1 10 0 R>>"), objects={10: PICTURE}
        )

    stamp = "Received 9 June"
    assert read(page(WHOLE_PAGE, stamp)) == ([stamp], {"scanned_pages": 1})
    assert read(page(CORNER, stamp)) == ([stamp], {})
    assert read(page(WHOLE_PAGE, *ENGLISH, *ENGLISH))[1] == {}
    recognised_before = f"{WHOLE_PAGE} 3 Tr {text_line(400, 'Words of the scan')}"
    assert read(page(recognised_before, stamp)) == ([stamp, "Words of the scan"], {})
    monkeypatch.setattr(pdf_parse, "is_ocr_installed", lambda: True)
    found = [
        PictureLine(text=text, x=9, y=99 * n, w=300, h=40)
        for n, text in enumerate(("Recelved 9 June", "The lease"))
    ]
    monkeypatch.setattr(pdf_parse, "recognise", lambda picture: found)
    assert read(page(WHOLE_PAGE, stamp)) == (["Recelved 9 June", "The lease", stamp], {})


def test_layers_that_are_switched_off_are_left_out(subtests):
    form = "/Type/XObject/Subtype/Form/BBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>"
    objects = {
        10: "<</Type/OCG/Name(off)>>",
        11: "<</Type/OCG/Name(on)>>",
        12: "<</Type/OCMD/OCGs[10 0 R]>>",
        13: stream(text_line(560, "Drawn off"), f"{form}/OC 10 0 R"),
        14: stream(text_line(540, "Drawn on"), form),
    }
    shown = {
        "/OC /off BDC {} EMC": "Marked off",
        "/OC /either BDC {} EMC": "Combined off",
        "/P <</MCID 0>> BDC /OC /off BDC {} EMC EMC": "Tagged off",
        "/OC /on BDC {} EMC": "Marked on",
    }
    operators = " ".join(
        mark.format(text_line(700 - 20 * n, text)) for n, (mark, text) in enumerate(shown.items())
    )
    page = Page(
        lines=[(50, 780, "Always on")],
        operators=f"{operators} /X1 Do /X2 Do",
        resources="/Properties<</off 10 0 R/on 11 0 R/either 12 0 R>>/XObject<</X1 13 0 R/X2 14 0 R>>",
    )
    catalogue = "/OCProperties<</OCGs[10 0 R 11 0 R]/D<<{}/OFF[10 0 R]>>>>"
    lines, omissions = read(pdf_of(page, page, catalogue=catalogue.format(""), objects=objects))
    assert lines == ["Always on", "Marked on", "Drawn on"] * 2
    assert omissions == {"hidden_text": 2 * len("MarkedoffCombinedoffTaggedoffDrawnoff")}


def test_layers_are_found_in_packed_objects():
    def packed(objects):
        return b"9 0 obj<</Type/ObjStm/Filter/FlateDecode>>stream\n%b\nendstream" % zlib.compress(objects)

    assert has_layers(packed(b"<</Type/Page>>") + packed(b"<</Type/Catalog/OCProperties 3 0 R>>"))
    assert not has_layers(packed(b"<</Type/Catalog>>") + packed(b"\0")[:-12])


def test_invisible_text_is_left_out_where_the_page_has_visible_text():
    lines = rows(50, 780, ENGLISH)
    hidden = f"3 Tr {text_line(780, ENGLISH[0])} {text_line(500, 'Stuffed words')}"
    kept, omissions = read(pdf_of(Page(lines=lines, operators=hidden)))
    assert kept == list(ENGLISH)
    assert omissions["hidden_text"] >= len("Stuffedwords")  # pdfium leaves out the duplicate itself
    assert read(pdf_of(Page(operators=hidden))) == ([ENGLISH[0], "Stuffed words"], {})


def test_text_outside_of_the_crop_box_is_left_out():
    lines = [(50, 700, "Inside"), (50, 830, "Above"), (560, 660, "Inside all outside"), (700, 640, "Beside")]
    kept, omissions = read(pdf_of(Page(lines=lines, entries="/CropBox[0 0 595 800]")))
    assert kept == ["Inside", "Inside all"]
    assert omissions == {"outside_page": len("AboveoutsideBeside")}
    assert "Inside" in read(pdf_of(Page(lines=lines, entries="/CropBox[0 0 595 800]", rotation=90)))[0]


def test_form_replaces_the_page_that_asks_to_wait(subtests):
    template = """<template xmlns='http://www.xfa.org/schema/xfa-template/3.0/'><subform>
        <draw><value><text>Berth permit</text></value></draw>
        <field name='ship'><caption><value><text>Name of the ship</text></value></caption></field>
        <field name='flag'><items><text>Norway</text><text>Sweden</text></items>
        <items save='1'><text>no</text><text>se</text></items></field>
        <field name='ice'><ui><checkButton/></ui><caption><value><text>Ice</text></value></caption>
        <items><integer>1</integer><integer>0</integer></items></field>
        <field name='cargo'><caption><value><text>Cargo</text></value></caption></field>
        </subform></template>"""
    data = """<xfa:datasets xmlns:xfa='http://www.xfa.org/schema/xfa-data/1.0/'><xfa:data><form>
        <ship>Morning &amp; Rose</ship><flag>se</flag><ice>1</ice><cargo>salt</cargo>
        <cargo>herring</cargo><pilot>T. Quill</pilot></form></xfa:data></xfa:datasets>"""
    wait = Page(
        lines=[(50, 700, "Please wait..."), (50, 680, "Your viewer may not be able to display this.")]
    )
    expected = [
        "Berth permit",
        "Name of the ship: Morning & Rose",
        "flag: Sweden",
        "Ice: checked",
        "Cargo",
        "Cargo: salt",
        "Cargo: herring",
        "pilot: T. Quill",
    ]
    whole = f"<?xml version='1.0'?><xdp:xdp xmlns:xdp='http://ns.adobe.com/xdp/'>{template}{data}</xdp:xdp>"
    in_parts = "[(preamble) 10 0 R (template) 11 0 R (datasets) 12 0 R (postamble) 13 0 R]"
    parts = (
        "<?xml version='1.0'?><xdp:xdp xmlns:xdp='http://ns.adobe.com/xdp/'>",
        template,
        data,
        "</xdp:xdp>",
    )
    for name, form, contents in [("whole", "10 0 R", [whole]), ("in parts", in_parts, parts)]:
        with subtests.test(case=name):
            content = pdf_of(
                wait,
                catalogue=f"/AcroForm<</XFA {form}/Fields[]>>/NeedsRendering true",
                objects={10 + n: stream(part) for n, part in enumerate(contents)},
            )
            lines, omissions = read(content)
            assert (lines, list(omissions)) == (expected, ["placeholders"])
    broken = pdf_of(wait, catalogue="/AcroForm<</XFA 10 0 R/Fields[]>>", objects={10: stream("no form")})
    assert (read(broken)[0], list(read(broken)[1])) == ([], ["placeholders", "closed_parts"])
    static = pdf_of(
        Page(lines=rows(50, 780, ENGLISH)),
        catalogue="/AcroForm<</XFA 10 0 R/Fields[]>>",
        objects={10: stream(whole)},
    )
    assert read(static) == (list(ENGLISH), {})


def test_line_numbers_are_left_out(subtests):
    texts = (
        "The tenant shall keep the orchard wall in",
        "good repair and shall give the landlord",
        "ninety days notice before any demolition",
        "of the northern gatehouse is begun.",
        "Nothing in this clause limits the duty of",
        "care towards passing ramblers.",
    )
    body = rows(90, 720, texts)
    for name, numbers in {
        "each line": [(60, y, str(n)) for n, (_, y, _) in enumerate(body, 8)],
        "at the right": [(500, y, str(n)) for n, (_, y, _) in enumerate(body, 1)],
        "of a grid": [(60, 760 - 22 * n, str(n)) for n in range(1, 20)],
        "every fifth": [(60, 720 - 26 * n, str(5 * n)) for n in range(1, 5)],
    }.items():
        with subtests.test(case=name):
            long = body if name != "every fifth" else rows(90, 720, texts * 2)
            for lines in (numbers + long, long + numbers):
                kept, omissions = read(
                    pdf_of(Page(lines=lines), Page(lines=[(60, 720, "77"), (90, 720, "the end of it.")]))
                )
                assert " ".join(kept).startswith(" ".join(texts))
                assert kept[-1] == "the end of it." or kept[-1].endswith("ramblers.")
                assert omissions["line_numbers"] == len(numbers) + 1
    for name, table in {
        "list": [(str(n), f"Item of the agenda {n}") for n in range(1, 9)],
        "lower case": [(str(n), f"item of the agenda {n}") for n in range(1, 9)],
        "table": [(str(n), f"bolt of size {n}", "in the store") for n in range(1, 9)],
    }.items():
        with subtests.test(case=name):
            lines = [
                (60 + 120 * n, 720 - 13 * row, cell)
                for row, cells in enumerate(table)
                for n, cell in enumerate(cells)
            ]
            assert read(pdf_of(Page(lines=lines))) == ([" ".join(cells) for cells in table], {})
