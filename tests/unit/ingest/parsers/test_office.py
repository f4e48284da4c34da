"""Word, PowerPoint and Excel files of real programs, and their markup."""

import io
import zipfile

from ingest.digest.types import Digest
from ingest.parsers.office.links import sensible_sheet, sensible_title
from ingest.parsers.registry import parse
from ingest.parsers.types import ParsedDocument
from tests.support.archives import zip_of
from tests.support.samples import content_of, digest_sample


def parse_sample(name: str, *, rung: int = 0) -> ParsedDocument:
    return parse(content_of(f"office/{name}"), f"shelf/{name}", first_rung=rung)


def blocks_of(document: ParsedDocument) -> list[tuple[str, int, str]]:
    lines = document.outline.lines
    return [
        (block.kind, block.level, "\n".join(lines[block.span.start - 1 : block.span.end]))
        for block in document.outline.blocks
    ]


def places_of(digest: Digest) -> list[tuple[tuple[str, ...], str, dict]]:
    return [(chunk.heading_path, chunk.text, dict(chunk.spans[0])) for chunk in digest.chunks]


SIGNALS_TABLE = "Station | Blasts | Interval\nLongstone | 2 | 90 seconds\nBamburgh | 1 | 45 seconds"


def test_word_document_is_read_block_by_block():
    document = parse_sample("handbook.docx")
    assert blocks_of(document) == [
        ("heading", 1, "Lighthouse keeper's handbook"),
        ("paragraph", 0, "Every keeper signs this page before the first watch."),
        ("heading", 2, "The lamp"),
        ("paragraph", 0, "The lamp burns colza oil; trim the wick every four hours."),
        ("heading", 3, "Cleaning the lens"),
        ("paragraph", 0, "Use spirit of wine and a linen cloth,\nnever wool."),
        ("list", 0, "- Dust the prisms first\n- Polish from the top\n  - wear the apron"),
        ("heading", 2, "Fog signals"),
        ("paragraph", 0, "Sound the horn when the pier can't be seen."),
        ("paragraph", 0, "Spare reeds lie in the blue chest."),
        ("table", 0, SIGNALS_TABLE),
        ("paragraph", 0, "Write each signal into the log."),
        ("heading", 2, "Notes"),
        ("list", 0, "Colza is pressed from rape seed."),
    ]
    title = "Lighthouse keeper's handbook"
    assert (document.title, document.media, document.parser) == (title, "office", "docx")
    assert document.metadata == {
        "author": "Grace Darling",
        "created": "2024-03-01T09:30:00+00:00",
        "modified": "2024-05-17T16:45:00+00:00",
    }
    template = parse_sample("handbook.dotx")
    assert (template.parser, template.warnings) == ("docx", ())
    assert blocks_of(template) == blocks_of(document)


def test_chunks_of_a_word_document_point_at_its_lines(shared_digester):
    digest = digest_sample(shared_digester, "office/handbook.docx")
    lines = parse_sample("handbook.docx").outline.lines
    for chunk in digest.chunks:
        span = chunk.spans[0]
        assert chunk.text == "\n".join(lines[span["start"] - 1 : span["end"]])
    signals = next(chunk for chunk in digest.chunks if "Longstone" in chunk.text)
    assert signals.heading_path == ("Lighthouse keeper's handbook",)
    assert signals.breadcrumb == "Lighthouse keeper's handbook · The lamp · Fog signals · Notes"
    assert signals.spans[0] == {"kind": "line", "start": 3, "end": 32}


def test_presentation_has_a_page_for_each_slide(shared_digester):
    digest = digest_sample(shared_digester, "office/signals.pptx")
    # the file's properties call it "PowerPoint Presentation"
    assert (digest.title, digest.media, digest.parser) == ("Building Skerryvore", "office", "pptx")
    assert digest.metadata["author"] == "Alan Stevenson"
    assert places_of(digest) == [
        (
            ("Building Skerryvore",),
            "Granite from Hynish\n  dressed on Tiree\nFour seasons on the rock\n\n"
            "Notes: Mention the storm that took the first barrack.",
            {"kind": "page", "page": 1},
        ),
        (("The optics",), "Order | Focal length\nFirst | 920 millimetres", {"kind": "page", "page": 2}),
        (("Slide 3",), "First lit on the first of February 1844.", {"kind": "page", "page": 3}),
    ]


def test_workbook_has_a_page_for_each_sheet(shared_digester):
    digest = digest_sample(shared_digester, "office/tides.xlsx")
    assert (digest.title, digest.media, digest.parser) == ("High water", "office", "xlsx")
    assert places_of(digest) == [
        (
            ("High water",),
            "Day | Harbour | Metres\n2024-06-01 | Newport | 1.25\n2024-06-02 | Jamestown | 1.4\n\n"
            "Sum |  | 2.65",
            {"kind": "page", "page": 1},
        ),
        (("Keepers",), "Name | On duty\nIda Lewis of Lime Rock | TRUE", {"kind": "page", "page": 2}),
    ]
    assert digest.metadata["author"] == "Ida Lewis"


def pages_with(word: str, document: ParsedDocument) -> list[object]:
    if document.outline.origins is None:
        return [word for line in document.outline.lines if word in line]
    numbered = enumerate(document.outline.lines, start=1)
    return [document.source_span(number, number) for number, line in numbered if word in line]


def test_simpler_reader_finds_the_same_words_on_the_same_pages(subtests):
    words = ("colza", "linen", "reeds", "Bamburgh", "rape", "Hynish", "920", "1844", "Newport", "2.65")
    for name in ("handbook.docx", "signals.pptx", "tides.xlsx"):
        with subtests.test(name=name):
            best, simple = parse_sample(name), parse_sample(name, rung=1)
            assert (simple.parser, simple.title, simple.metadata) == (
                "office_text",
                best.title,
                best.metadata,
            )
            assert [pages_with(word, simple) for word in words] == [pages_with(word, best) for word in words]
    blocks = blocks_of(parse_sample("handbook.docx", rung=1))
    headings = {("heading", 1, "Fog signals"), ("heading", 2, "Cleaning the lens")}
    assert headings | {("table", 0, SIGNALS_TABLE)} <= set(blocks)


SPACES = (
    "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
    " xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'"
)


def word_document(body: str) -> ParsedDocument:
    """Return the handbook with another body, as Word would write it."""
    document = f"<w:document {SPACES}><w:body>{body}</w:body></w:document>".encode()
    with zipfile.ZipFile(io.BytesIO(content_of("office/handbook.docx"))) as source:
        parts = {part: source.read(part) for part in source.namelist()}
    return parse(zip_of({**parts, "word/document.xml": document}), "a.docx")


def paragraph(text: str, settings: str = "") -> str:
    return f"<w:p><w:pPr>{settings}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_markup_of_word_is_read_as_a_reader_sees_it(subtests):
    box = f"<w:txbxContent>{paragraph('in a box')}</w:txbxContent>"
    inner = f"<w:tbl><w:tr><w:tc>{paragraph('inner')}</w:tc></w:tr></w:tbl>"
    rows = (
        f"<w:tr><w:tc>{paragraph('a')}</w:tc><w:tc>{paragraph('b')}</w:tc></w:tr>"
        f"<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr>{paragraph('')}</w:tc><w:tc>{paragraph('c')}{inner}</w:tc></w:tr>"
    )
    for name, body, lines in [
        (
            "changes are applied",
            "<w:p><w:r><w:t>kept </w:t></w:r><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
            "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>",
            ["kept inserted"],
        ),
        (
            "content control",
            f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph('in a control')}</w:sdtContent></w:sdt>",
            ["in a control"],
        ),
        (
            "text box once",
            f"<w:p><w:r><w:t>around</w:t><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
            f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>",
            ["around", "", "in a box"],
        ),
        ("merged and nested cells", f"<w:tbl>{rows}</w:tbl>", ["a | b", " | c inner"]),
    ]:
        with subtests.test(case=name):
            found = word_document(body).outline.lines
            assert found[: len(lines)] == lines
            assert "\n".join(found).count(lines[-1]) == 1


def test_paragraph_with_an_outline_level_is_a_heading():
    document = word_document(paragraph("By level", "<w:outlineLvl w:val='1'/>") + paragraph("text"))
    assert [block[:2] for block in blocks_of(document)[:2]] == [("heading", 2), ("paragraph", 0)]


def test_title_counts_when_a_person_wrote_it(subtests):
    written = ("Storm log of 1838", "Office relocation plan", "Word list of the pilots")
    generated = (
        "Microsoft Word - draft.doc",
        "PowerPoint-Präsentation",
        "Untitled 1",
        "draft_v2.docx",
        "2024",
    )
    for stated in (*written, *generated, "", None):
        with subtests.test(case=stated):
            assert sensible_title(stated) == (stated if stated in written else None)
    for name in ("Sheet1", "Tabelle 2", "Лист1", "High water"):
        with subtests.test(case=name):
            assert sensible_sheet(name) == (name if name == "High water" else None)


def test_content_is_recognised_under_any_name(subtests):
    mails = ("email/report.eml", "email/soldiers.eml")
    for name in ("office/handbook.docx", "office/tides.xlsx", "office/signals.pptx", *mails):
        content = content_of(name)
        expected = parse(content, name)
        for other in ["report", "report.bin", "report.pdf", "report.png", "report.pptx"]:
            with subtests.test(case=name, other=other):
                document = parse(content, other)
                assert (document.parser, document.mime, document.warnings) == (
                    expected.parser,
                    expected.mime,
                    (),
                )
                assert document.outline.lines == expected.outline.lines
