"""Word documents: automatic numbers, comments, page headers, pictures, symbols and equations."""

import io
from xml.sax.saxutils import escape

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from ingest.parsers.registry import parse

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
LEVEL = '<w:lvl w:ilvl="{}"><w:start w:val="{}"/><w:numFmt w:val="{}"/>{}<w:lvlText w:val="{}"/></w:lvl>'


def read(document):
    file = io.BytesIO()
    document.save(file)
    outline = parse(file.getvalue(), "a.docx").outline
    return [line for line in outline.lines if line]


def test_author_and_dates_of_the_template_are_left_out():
    document, file = Document(), io.BytesIO()
    document.add_paragraph("Ropes are kept dry.")
    document.save(file)
    assert parse(file.getvalue(), "a.docx").outline.metadata == {}


def define_list(document, levels, *, list_id=70, overrides=""):
    """Add a list of levels (start, format, text, style) to the document's numbering."""
    numbering = document.part.numbering_part.element
    drawn = "".join(
        LEVEL.format(depth, start, form, f'<w:pStyle w:val="{style}"/>' if style else "", text)
        for depth, (start, form, text, style) in enumerate(levels)
    )
    if levels:
        abstract = parse_xml(f'<w:abstractNum {WORD} w:abstractNumId="70">{drawn}</w:abstractNum>')
        numbering.insert(0, abstract)
    numbering.append(
        parse_xml(f'<w:num {WORD} w:numId="{list_id}"><w:abstractNumId w:val="70"/>{overrides}</w:num>')
    )


def number(paragraph, depth, list_id=70):
    paragraph._p.get_or_add_pPr().append(
        parse_xml(f'<w:numPr {WORD}><w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/></w:numPr>')
    )
    return paragraph


def test_headings_and_clauses_have_their_automatic_numbers():
    document = Document()
    levels = [
        (2, "decimal", "Article %1", None),
        (1, "decimal", "%1.%2", None),
        (1, "lowerRoman", "(%3)", None),
    ]
    define_list(document, levels)
    number(document.add_heading("Mooring", 1), 0)
    number(document.add_paragraph("Ropes are kept dry."), 1)
    number(document.add_paragraph("hemp"), 2)
    number(document.add_paragraph("wire"), 2)
    number(document.add_paragraph("Fenders are hung out."), 1)
    number(document.add_paragraph("tyres"), 2)
    number(document.add_heading("Towing", 1), 0)
    number(document.add_paragraph("Two tugs."), 1)
    assert read(document) == [
        "Article 2 Mooring",
        "  2.1 Ropes are kept dry.",
        "    (i) hemp",
        "    (ii) wire",
        "  2.2 Fenders are hung out.",
        "    (i) tyres",
        "Article 3 Towing",
        "  3.1 Two tugs.",
    ]


def test_paragraph_numbers_follow_their_style_and_restart_per_list():
    document = Document()
    define_list(document, [(1, "upperLetter", "%1)", "Heading1"), (1, "decimalZero", "%1.%2", "Heading2")])
    restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'
    define_list(document, [], list_id=71, overrides=restart)
    for name in ("Heading 1", "Heading 2"):
        settings = document.styles[name].element.get_or_add_pPr()
        settings.append(parse_xml(f'<w:numPr {WORD}><w:numId w:val="70"/></w:numPr>'))
    document.add_heading("Lamps", 1)
    document.add_heading("Oil", 2)
    number(document.add_heading("No number", 2), 1, list_id=0)
    number(document.add_paragraph("fifth"), 0, list_id=71)
    assert read(document) == ["A) Lamps", "A.01 Oil", "No number", "E) fifth"]


def test_comments_follow_their_paragraph_and_page_headers_come_last_once():
    document = Document()
    document.sections[0].header.paragraphs[0].text = "Harbour office, file HO-77"
    document.sections[0].footer.paragraphs[0]._p.append(
        parse_xml(
            f'<w:fldSimple {WORD} w:instr=" PAGE "><w:r><w:t>3</w:t></w:r></w:fldSimple>',
        )
    )
    document.add_heading("Fees", 1)
    run = document.add_paragraph("Pay on arrival.").runs[0]
    run._r.append(parse_xml(f'<w:commentReference {WORD} w:id="4"/>'))
    document.add_paragraph("Keep the receipt.")
    comments = (
        f'<w:comments {WORD}><w:comment w:id="4" w:author="Ann"><w:p><w:r><w:t>Or before?</w:t></w:r></w:p>'
        "</w:comment></w:comments>"
    )
    part = Part(PackURI("/word/comments9.xml"), "application/xml", comments.encode(), document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.COMMENTS)
    assert read(document) == [
        "Fees",
        "Pay on arrival.",
        "Comment by Ann: Or before?",
        "Keep the receipt.",
        "Headers and footers",
        "Harbour office, file HO-77",
    ]


def test_pictures_symbols_and_equations_are_text():
    document = Document()
    paragraph = document.add_paragraph("See ")._p
    drawn = '<w:drawing><wp:inline><wp:docPr id="1" name="Picture 1" descr="{}"/></wp:inline></w:drawing>'
    for described in ("Plan of the quay", "scan0001.png"):
        paragraph.append(parse_xml(f"<w:r {nsdecls('w', 'wp')}>{drawn.format(described)}</w:r>"))
    for font, code in (("Symbol", "F061"), ("Wingdings", "F0FC"), ("Arial", "2640")):
        paragraph.append(parse_xml(f'<w:r {WORD}><w:sym w:font="{font}" w:char="{code}"/></w:r>'))
    paragraph.append(parse_xml(f"<w:r {WORD}><w:t>har\u00adbour</w:t><w:ptab/><w:t>end</w:t></w:r>"))
    letters = {name: f"<m:r><m:t>{name}</m:t></m:r>" for name in ("a", "b", "x", "n")}
    equation = (
        f"<m:oMath {MATH}><m:f><m:num>{letters['a']}</m:num><m:den>{letters['b']}{letters['x']}</m:den></m:f>"
        f"<m:sSup><m:e>{letters['x']}</m:e><m:sup>{letters['n']}</m:sup></m:sSup></m:oMath>"
    )
    document.add_paragraph()._p.append(parse_xml(equation))
    assert read(document) == ["See  [Plan of the quay] α✓♀harbour\tend", "a/(bx)x^n"]


def test_empty_clauses_and_cells_are_counted():
    document = Document()
    define_list(document, [(1, "decimal", "§ %1", None)])
    number(document.add_paragraph("Berth"), 0)
    number(document.add_paragraph(""), 0)
    table = document.add_table(1, 2)
    number(table.cell(0, 0).paragraphs[0], 0).text = "Fee"
    table.cell(0, 1).text = "80"
    number(document.add_paragraph("Notice"), 0)
    assert read(document) == ["§ 1 Berth", "§ 3 Fee | 80", "§ 4 Notice"]


def test_signs_of_fonts_hidden_words_and_rare_equations_are_read_as_shown():
    document = Document()
    paragraph = document.add_paragraph("")
    paragraph.add_run("\uf0fc").font.name = "Wingdings"
    paragraph.add_run(" paid ")
    paragraph.add_run("not shown").font.hidden = True
    shape = '<v:shape xmlns:v="urn:schemas-microsoft-com:vml" alt="The quay in 1900"/>'
    paragraph._p.append(parse_xml(f"<w:r {WORD}><w:pict>{shape}</w:pict></w:r>"))
    letter = "<m:r><m:t>{}</m:t></m:r>".format
    limit = f"<m:limLow><m:e>{letter('lim')}</m:e><m:lim>{letter('n→∞')}</m:lim></m:limLow>"
    marks = '<m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>'
    document.add_paragraph("")._p.append(
        parse_xml(
            f"<m:oMath {MATH}><m:func><m:fName>{limit}</m:fName><m:e><m:d>{marks}<m:e>{letter('a')}</m:e>"
            f"</m:d></m:e></m:func></m:oMath>"
        )
    )
    assert read(document) == ["✓ paid  [The quay in 1900]", "lim_(n→∞) [a]"]


def test_chart_of_a_document_is_the_table_of_its_data():
    document = Document()
    space = "http://schemas.openxmlformats.org/drawingml/2006/chart"
    values = "<c:tx><c:v>ships</c:v></c:tx><c:val><c:pt idx='0'><c:v>7.0</c:v></c:pt></c:val>"
    content = f"<c:chartSpace xmlns:c='{space}'><c:ser>{values}</c:ser></c:chartSpace>".encode()
    part = Part(PackURI("/word/charts/chart1.xml"), "application/xml", content, document.part.package)
    related = document.part.relate_to(part, RELATIONSHIP_TYPE.CHART)
    drawn = f'<c:chart xmlns:c="{space}" {nsdecls("r")} r:id="{related}"/>'
    document.add_paragraph("By month:")._p.append(
        parse_xml(f"<w:r {WORD}><w:drawing>{drawn}</w:drawing></w:r>")
    )
    assert read(document) == ["By month:", " | ships", "1 | 7"]


def related(document, kind, name, content, content_type="application/xml"):
    part = Part(PackURI(name), content_type, content, document.part.package)
    return document.part.relate_to(part, f"{RELATIONSHIPS}/{kind}")


def test_targets_of_links_follow_their_paragraph():
    document = Document()
    target = document.part.relate_to(
        "https://example.org/berths", RELATIONSHIP_TYPE.HYPERLINK, is_external=True
    )
    link = '<w:hyperlink {} r:id="{}" w:anchor="a"><w:r><w:t>the berths</w:t></w:r></w:hyperlink>'
    document.add_paragraph("Book ")._p.append(parse_xml(link.format(nsdecls("w", "r"), target)))
    field = document.add_paragraph("Ask the desk")._p
    for text in (' HYPERLINK "mailto:desk', '@example.org" ', ' HYPERLINK \\l "here" '):
        field.append(parse_xml(f"<w:r {WORD}><w:instrText>{escape(text)}</w:instrText></w:r>"))
    assert read(document) == [
        *("Book the berths", "Link: the berths (https://example.org/berths)"),
        *("Ask the desk", "Link: mailto:desk@example.org"),
    ]


def test_deleted_rows_and_cells_are_left_out():
    document = Document()
    table = document.add_table(3, 2)
    for number, text in enumerate(("Post", "Holder", "Bosun", "Finch", "Purser", "Crane")):
        table.cell(number // 2, number % 2).text = text
    table.rows[1]._tr.get_or_add_trPr().append(parse_xml(f'<w:del {WORD} w:id="1"/>'))
    table.cell(2, 1)._tc.get_or_add_tcPr().append(parse_xml(f'<w:cellDel {WORD} w:id="2"/>'))
    run = f"<w:r {WORD}><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
    document.add_paragraph("End")._p.append(parse_xml(run))
    deleted = f'<w:del {WORD} w:id="3"><w:r><w:delText>Mallory</w:delText></w:r></w:del>'
    document.add_paragraph()._p.append(parse_xml(deleted))
    file = io.BytesIO()
    document.save(file)
    parsed = parse(file.getvalue(), "a.docx")
    assert [line for line in parsed.outline.lines if line] == ["Post | Holder", "Purser", "End"]
    assert {each.kind: each.amount for each in parsed.omissions} == {"deleted_text": 7, "hidden_text": 6}


def test_inserted_files_are_read_in_their_place_and_unreadable_ones_are_told():
    inner = Document()
    inner.add_paragraph("Inner words")
    file = io.BytesIO()
    inner.save(file)
    document = Document()
    for number, (name, content) in enumerate(
        [
            ("a.html", b"<html><body><h1>Dues</h1><p>Ten crowns</p></body></html>"),
            ("b.rtf", rb"{\rtf1 Rich words\par}"),
            ("c.docx", file.getvalue()),
            ("d.bin", b"\x00\x01\x02" * 40),
        ]
    ):
        id_ = related(document, "aFChunk", f"/word/{name}", content)
        document.add_paragraph(f"before {number}")
        document.element.body.insert_element_before(
            parse_xml(f'<w:altChunk {nsdecls("w", "r")} r:id="{id_}"/>'), "w:sectPr"
        )
    file = io.BytesIO()
    document.save(file)
    parsed = parse(file.getvalue(), "a.docx")
    assert [line for line in parsed.outline.lines if line] == [
        *("before 0", "Dues", "Ten crowns", "before 1", "Rich words", "before 2", "Inner words", "before 3")
    ]
    assert [(each.kind, each.where) for each in parsed.omissions] == [("unreadable_parts", ("/word/d.bin",))]


def test_document_inserted_into_itself_ends():
    def nested(depth):
        document = Document()
        document.add_paragraph(f"level {depth}")
        if depth < 9:
            id_ = related(document, "aFChunk", "/word/a.docx", nested(depth + 1))
            document.element.body.insert_element_before(
                parse_xml(f'<w:altChunk {nsdecls("w", "r")} r:id="{id_}"/>'), "w:sectPr"
            )
        file = io.BytesIO()
        document.save(file)
        return file.getvalue()

    parsed = parse(nested(0), "a.docx")
    assert [line for line in parsed.outline.lines if line] == [f"level {n}" for n in range(4)]
    assert [(each.kind, each.amount) for each in parsed.omissions] == [("unreadable_parts", 1)]


def test_states_of_form_fields_are_text():
    document = Document()
    paragraph = document.add_paragraph("Paid ")._p
    for field in (
        "<w:checkBox><w:default w:val='1'/></w:checkBox>",
        "<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>",
        "<w:ddList><w:result w:val='1'/><w:listEntry w:val='cash'/><w:listEntry w:val='card'/></w:ddList>",
        "<w:ddList><w:result w:val='7'/><w:listEntry w:val='cash'/></w:ddList>",
    ):
        begin = f'<w:r {WORD}><w:fldChar w:fldCharType="begin"><w:ffData>{field}</w:ffData></w:fldChar></w:r>'
        paragraph.append(parse_xml(begin))
    assert read(document) == ["Paid ☒☐card"]


def test_embedded_files_are_named():
    document = Document()
    id_ = related(document, "package", "/word/embeddings/Budget.xlsx", b"PK")
    ole = '<o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office" r:id="{}"/>'
    ole = f"<w:r {{}}><w:object>{ole}</w:object></w:r>"
    document.add_paragraph("The sums:")._p.append(parse_xml(ole.format(nsdecls("w", "r"), id_)))
    file = io.BytesIO()
    document.save(file)
    parsed = parse(file.getvalue(), "a.docx")
    assert [line for line in parsed.outline.lines if line] == ["The sums:", "Embedded file: Budget.xlsx"]
    assert [(each.kind, each.amount) for each in parsed.omissions] == [("embedded_files", 1)]
