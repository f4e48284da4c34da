import io
import zipfile

import pytest

from ingest.parsers.office_titles import sensible_sheet, sensible_title
from ingest.parsers.registry import parse
from ingest.parsers.types import ParsedDocument
from ingest.sandbox.digester import Digester
from ingest.sandbox.types import Digest
from tests.support.paths import FILES

OFFICE = FILES / "office"


@pytest.fixture(scope="module")
def digester():
    with Digester() as one:
        yield one


def parsed(name: str, *, rung: int = 0) -> ParsedDocument:
    return parse((OFFICE / name).read_bytes(), f"shelf/{name}", first_rung=rung)


def digested(digester: Digester, name: str) -> Digest:
    return digester.digest((OFFICE / name).read_bytes(), f"shelf/{name}")


def blocks_of(document: ParsedDocument) -> list[tuple[str, int, str]]:
    lines = document.outline.lines
    return [
        (block.kind, block.level, "\n".join(lines[block.span.start - 1 : block.span.end]))
        for block in document.outline.blocks
    ]


def places_of(digest: Digest) -> list[tuple[tuple[str, ...], str, dict]]:
    return [(chunk.heading_path, chunk.text, dict(chunk.spans[0])) for chunk in digest.chunks]


def test_word_document_is_read_block_by_block():
    assert blocks_of(parsed("handbook.docx")) == [
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
        ("table", 0, "Station | Blasts | Interval\nLongstone | 2 | 90 seconds\nBamburgh | 1 | 45 seconds"),
        ("paragraph", 0, "Write each signal into the log."),
        ("heading", 2, "Notes"),
        ("list", 0, "Colza is pressed from rape seed."),
    ]


def test_word_document_says_who_wrote_it_and_when():
    document = parsed("handbook.docx")
    assert (document.title, document.media, document.parser) == (
        "Lighthouse keeper's handbook",
        "office",
        "docx",
    )
    assert document.metadata == {
        "author": "Grace Darling",
        "created": "2024-03-01T09:30:00+00:00",
        "modified": "2024-05-17T16:45:00+00:00",
    }


def test_chunks_of_a_word_document_point_at_its_lines(digester):
    digest = digested(digester, "handbook.docx")
    lines = parsed("handbook.docx").outline.lines
    for chunk in digest.chunks:
        span = chunk.spans[0]
        assert chunk.text == "\n".join(lines[span["start"] - 1 : span["end"]])
    signals = next(chunk for chunk in digest.chunks if "Longstone" in chunk.text)
    assert signals.heading_path == ("Lighthouse keeper's handbook", "Fog signals")
    assert signals.breadcrumb == "Lighthouse keeper's handbook > Fog signals"
    assert signals.spans[0] == {"kind": "line", "start": 20, "end": 28}


def test_template_is_read_like_a_document():
    template = parsed("handbook.dotx")
    assert (template.parser, template.warnings) == ("docx", ())
    assert blocks_of(template) == blocks_of(parsed("handbook.docx"))


def test_presentation_has_a_page_a_slide(digester):
    digest = digested(digester, "signals.pptx")
    assert (digest.title, digest.media, digest.parser) == ("Building Skerryvore", "office", "pptx")
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


def test_title_that_a_program_wrote_is_none():
    # the file's properties call it "PowerPoint Presentation"
    assert parsed("signals.pptx").title == "Building Skerryvore"
    assert parsed("signals.pptx").metadata["author"] == "Alan Stevenson"


def test_workbook_has_a_page_a_sheet(digester):
    digest = digested(digester, "tides.xlsx")
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


@pytest.mark.parametrize("name", ["handbook.docx", "signals.pptx", "tides.xlsx"])
def test_simpler_reader_finds_the_same_words_on_the_same_pages(name):
    best, simple = parsed(name), parsed(name, rung=1)
    assert (simple.parser, simple.title, simple.metadata) == ("office_text", best.title, best.metadata)
    for word in ("colza", "linen", "reeds", "Bamburgh", "rape", "Hynish", "920", "1844", "Newport", "2.65"):
        assert pages_with(word, simple) == pages_with(word, best)


def pages_with(word: str, document: ParsedDocument) -> list[object]:
    if document.outline.origins is None:
        return [word for line in document.outline.lines if word in line]
    return [
        document.source_span(number, number)
        for number, line in enumerate(document.outline.lines, start=1)
        if word in line
    ]


def test_simpler_reader_knows_headings_and_rows():
    blocks = blocks_of(parsed("handbook.docx", rung=1))
    assert ("heading", 1, "Fog signals") in blocks
    assert ("heading", 2, "Cleaning the lens") in blocks
    assert (
        "table",
        0,
        "Station | Blasts | Interval\nLongstone | 2 | 90 seconds\nBamburgh | 1 | 45 seconds",
    ) in blocks


def test_content_goes_before_the_name():
    document = parse((OFFICE / "tides.xlsx").read_bytes(), "tides.docx")
    assert (document.parser, document.mime) == (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    )
    assert parse((OFFICE / "handbook.docx").read_bytes(), "no-extension").parser == "docx"


SPACES = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
ALTERNATIVE = "xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'"


def word_document(body: str) -> ParsedDocument:
    """The handbook with another body, as Word would write it."""
    written = io.BytesIO()
    document = f"<w:document {SPACES} {ALTERNATIVE}><w:body>{body}</w:body></w:document>"
    with (
        zipfile.ZipFile(OFFICE / "handbook.docx") as source,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for part in source.namelist():
            target.writestr(part, document if part == "word/document.xml" else source.read(part))
    return parse(written.getvalue(), "a.docx")


def paragraph(text: str, settings: str = "") -> str:
    return f"<w:p><w:pPr>{settings}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_inserted_text_is_read_and_deleted_text_is_not():
    document = word_document(
        "<w:p><w:r><w:t>kept </w:t></w:r><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
    )
    assert document.outline.lines[0] == "kept inserted"


def test_text_in_content_controls_is_read():
    inside = paragraph("in a control")
    document = word_document(f"<w:sdt><w:sdtPr/><w:sdtContent>{inside}</w:sdtContent></w:sdt>")
    assert document.outline.lines[0] == "in a control"


def test_text_box_is_read_once():
    box = f"<w:txbxContent>{paragraph('in a box')}</w:txbxContent>"
    document = word_document(
        f"<w:p><w:r><w:t>around</w:t><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    assert document.outline.lines[:3] == ["around", "", "in a box"]
    assert "\n".join(document.outline.lines).count("in a box") == 1


def test_heading_by_outline_level_is_a_heading():
    document = word_document(paragraph("By level", "<w:outlineLvl w:val='1'/>") + paragraph("text"))
    assert [(block.kind, block.level) for block in document.outline.blocks[:2]] == [
        ("heading", 2),
        ("paragraph", 0),
    ]


def test_merged_and_nested_cells_keep_their_columns():
    inner = f"<w:tbl><w:tr><w:tc>{paragraph('inner')}</w:tc></w:tr></w:tbl>"
    rows = (
        f"<w:tr><w:tc>{paragraph('a')}</w:tc><w:tc>{paragraph('b')}</w:tc></w:tr>"
        f"<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr>{paragraph('')}</w:tc><w:tc>{paragraph('c')}{inner}</w:tc></w:tr>"
    )
    document = word_document(f"<w:tbl>{rows}</w:tbl>")
    assert document.outline.lines[:2] == ["a | b", " | c inner"]


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("Storm log of 1838", "Storm log of 1838"),
        ("Office relocation plan", "Office relocation plan"),
        ("Word list of the pilots", "Word list of the pilots"),
        ("Microsoft Word - draft.doc", None),
        ("PowerPoint-Präsentation", None),
        ("Untitled 1", None),
        ("draft_v2.docx", None),
        ("2024", None),
        ("", None),
        (None, None),
    ],
)
def test_title_of_the_properties_counts_when_a_person_wrote_it(stated, title):
    assert sensible_title(stated) == title


@pytest.mark.parametrize(
    ("name", "title"), [("Sheet1", None), ("Tabelle 2", None), ("Лист1", None), ("High water", "High water")]
)
def test_sheet_that_nobody_named_is_no_title(name, title):
    assert sensible_sheet(name) == title


@pytest.mark.parametrize("other", ["report", "report.bin", "report.pdf", "report.png", "report.pptx"])
@pytest.mark.parametrize(
    ("name", "parser"),
    [
        ("office/handbook.docx", "docx"),
        ("office/tides.xlsx", "xlsx"),
        ("office/signals.pptx", "pptx"),
        ("email/report.eml", "email"),
        ("email/soldiers.eml", "email"),
    ],
)
def test_content_is_recognised_without_its_name(name, parser, other):
    content = (OFFICE.parent / name).read_bytes()
    document = parse(content, other)
    assert (document.parser, document.warnings) == (parser, ())
    assert document.outline.lines == parse(content, name).outline.lines
