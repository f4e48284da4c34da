"""Form fields, notes and attached files of PDFs."""

from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from tests.support.pdf_files import Page, literal, pdf_of

RECT = "/Rect[50 50 200 80]"


def note(kind, contents, extra=""):
    return f"<</Type/Annot/Subtype/{kind}{RECT}/Contents {literal(contents)}{extra}>>"


def field(name, kind, extra="", label=None):
    tooltip = f"/TU {literal(label)}" if label else ""
    return f"<</Type/Annot/Subtype/Widget{RECT}/FT/{kind}/T {literal(name)}{tooltip}{extra}>>"


def form_of(*fields, lines=((50, 780, "Berth form"),)):
    objects = dict(enumerate(fields, start=10))
    references = [f"{number} 0 R" for number in objects]
    catalogue = f"/AcroForm<</Fields[{' '.join(references)}]/DA(/F1 10 Tf)>>"
    return pdf_of(Page(lines=lines, annotations=references), catalogue=catalogue, objects=objects)


def lines_of(content):
    return [line for line in parse(content, "a.pdf").outline.lines if line]


def test_filled_fields_are_read_with_their_labels():
    box = "/AP<</N<</Yes null/Off null>>>>"
    lines = lines_of(
        form_of(
            field("ship", "Tx", f"/V {literal('Morgenröte')}", label="Name of the ship"),
            field("remarks", "Tx", f"/Ff 4096/V {literal('two lines' + chr(13) + 'of text')}"),
            field("pin", "Tx", f"/Ff 8192/V {literal('1234')}"),
            field("empty", "Tx"),
            field("flag", "Ch", "/Ff 131072/Opt[[(no)(Norway)][(se)(Sweden)]]/V(se)", label="Flag"),
            field("cargo", "Ch", "/Opt[(salt)(herring)(timber)]/V[(salt)(timber)]"),
            field("ice", "Btn", f"/V/Yes/AS/Yes{box}", label="Ice needed"),
            field("fuel", "Btn", f"/V/Off/AS/Off{box}", label="Fuel needed"),
            field("send", "Btn", "/Ff 65536", label="Send"),
        )
    )
    assert lines == [
        "Berth form",
        "Name of the ship: Morgenröte",
        "remarks: two lines of text",
        "Flag: Sweden",
        "cargo: salt, timber",
        "Ice needed: checked",
    ]


def test_notes_are_read_with_their_author_on_their_page():
    author = f"/T {literal('Ïda East')}"
    quads = "/QuadPoints[50 80 200 80 50 50 200 50]"
    first = Page(
        lines=[(50, 780, "First page")],
        annotations=[
            note("Text", "Is the mast too high?", author),
            note("Highlight", "", author + quads),
            note("Highlight", "wrong year", quads),
            note("Link", "a link", "/A<</S/URI/URI(https://hidden.example)>>"),
            note("Popup", "a window"),
            note("Text", "not shown", "/F 2"),
            note("Text", "Accepted set by Max", "/StateModel(Review)/State(Accepted)"),
        ],
    )
    second = Page(lines=[(50, 780, "Second page")], annotations=[note("FreeText", "Paid\ntwice", author)])
    document = parse(pdf_of(first, second), "a.pdf")
    lines = list(document.outline.lines)
    assert [line for line in lines if line] == [
        "First page",
        "Note by Ïda East: Is the mast too high?",
        "Note: wrong year",
        "Link: https://hidden.example",
        "Second page",
        "Note by Ïda East: Paid twice",
    ]
    number = lines.index("Note by Ïda East: Paid twice") + 1
    assert document.source_span(number, number).page == 2


def test_attached_files_are_named():
    names = f"/Names<</EmbeddedFiles<</Names[{literal('plan')} 10 0 R]>>>>"
    spec = "<</Type/Filespec/F(plan.dxf)/UF {}/EF<</F 11 0 R>>>>".format(literal("Plän.dxf"))
    stream = "<</Type/EmbeddedFile/Length 1>>stream\nx\nendstream"
    on_page = f"<</Type/Annot/Subtype/FileAttachment{RECT}/FS 10 0 R/Contents {literal('the pier')}>>"
    page = Page(lines=[(50, 780, "Plans")], annotations=[on_page])
    content = pdf_of(page, catalogue=names, objects={10: spec, 11: stream})
    assert lines_of(content) == ["Plans", "Attachment: Plän.dxf: the pier", "Attachment: Plän.dxf"]


def test_page_without_text_but_with_fields_is_read():
    assert lines_of(form_of(field("berth", "Tx", "/V(12)"), lines=())) == ["berth: 12"]


def test_hostile_forms_and_annotations_are_read(subtests):
    page = [(50, 780, "Kept words")]
    cyclic = {
        10: f"<</T(a)/FT/Tx/Kids[11 0 R]/Parent 11 0 R{RECT}>>",
        11: "<</T(b)/Kids[10 0 R]/Parent 10 0 R>>",
    }
    tree = {
        number: f"<</T(t{number})/Kids[{number + 1} 0 R]/Parent {number - 1} 0 R>>"
        for number in range(10, 900)
    }
    tree[900] = f"<</T(last)/FT/Tx/Subtype/Widget{RECT}/V(deep)/Parent 899 0 R>>"
    names = {10: "<</Kids[10 0 R 11 0 R]>>", 11: "<</Kids[10 0 R]>>"}
    many = [note("Text", f"note {number}") for number in range(20_000)]
    for name, content in {
        "fields in a circle": pdf_of(
            Page(lines=page, annotations=["10 0 R", "11 0 R"]),
            catalogue="/AcroForm<</Fields[10 0 R]>>",
            objects=cyclic,
        ),
        "deep fields": pdf_of(
            Page(lines=page, annotations=["900 0 R"]), catalogue="/AcroForm<</Fields[10 0 R]>>", objects=tree
        ),
        "names in a circle": pdf_of(
            Page(lines=page), catalogue="/Names<</EmbeddedFiles 10 0 R>>", objects=names
        ),
        "many notes": pdf_of(Page(lines=page, annotations=many)),
        "broken annotations": pdf_of(
            Page(lines=page, annotations=["null", "7 0 R", "(x)", "<</Subtype 4>>"])
        ),
    }.items():
        with subtests.test(case=name):
            assert "Kept words" in lines_of(content)
    whole = form_of(field("ship", "Tx", "/V(Rose)"))
    for size in range(20, len(whole), 61):
        with subtests.test(case=size):
            try:
                parse(whole[:size], "a.pdf")
            except ParseRefused as refusal:
                assert refusal.code in ("damaged", "no_parser")
