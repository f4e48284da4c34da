"""Presentations: charts, diagrams and descriptions of pictures."""

import datetime
import io

from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.oxml import parse_xml
from pptx.util import Cm

from ingest.parsers.registry import parse
from tests.support.paths import FILES

SPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    ' xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)
DIAGRAM = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
FRAME = """<p:graphicFrame {}>
<p:nvGraphicFramePr><p:cNvPr id="9" name="D" descr="{}"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>
<p:xfrm><a:off x="0" y="0"/><a:ext cx="1" cy="1"/></p:xfrm>
<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram">
<dgm:relIds r:dm="{}"/></a:graphicData></a:graphic></p:graphicFrame>"""

CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
EQUATION_BOX = """<mc:AlternateContent {} xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"
 xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"
 xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"><mc:Choice Requires="a14"><p:sp>
<p:nvSpPr><p:cNvPr id="9" name="E"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>
<a:p><a:r><a:t>A knot is </a:t></a:r><a14:m><m:oMath><m:f><m:num><m:r><m:t>n</m:t></m:r></m:num><m:den><m:r>
<m:t>h</m:t></m:r></m:den></m:f></m:oMath></a14:m><a:r><a:t>.</a:t></a:r></a:p></p:txBody></p:sp></mc:Choice>
<mc:Fallback><p:pic/></mc:Fallback></mc:AlternateContent>"""


def slide_with_title(presentation, title):
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = title
    return slide


def read(presentation):
    file = io.BytesIO()
    presentation.save(file)
    return [line for line in parse(file.getvalue(), "a.pptx").outline.lines if line]


def test_chart_is_its_titles_and_the_table_of_its_data():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Ships")
    data = CategoryChartData()
    data.categories = ["March", "April"]
    data.add_series("in", (12, 14.5))
    data.add_series("out", (11, None))
    frame = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Cm(5), Cm(5), data)
    frame.chart.has_title = True
    frame.chart.chart_title.text_frame.text = "Ships by month"
    frame.chart.value_axis.has_title = True
    frame.chart.value_axis.axis_title.text_frame.text = "hulls"
    pie = slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, Cm(5), Cm(5), data)
    pie.chart.has_title = False
    table = [" | in | out", "March | 12 | 11", "April | 14.5"]
    assert read(presentation)[:6] == ["Ships", "Ships by month", "hulls", *table]


def test_diagram_and_picture_are_read_by_their_texts():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Steps")
    nodes = "".join(
        f'<dgm:pt modelId="{n}"{kind}><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        for n, (kind, text) in enumerate([("", "Moor"), ("", "Unload"), (' type="pres"', "not shown")])
    )
    content = f"<dgm:dataModel {SPACES}><dgm:ptLst>{nodes}</dgm:ptLst></dgm:dataModel>".encode()
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/xml", slide.part.package, content)
    related = slide.part.relate_to(part, DIAGRAM)
    slide.shapes._spTree.append(parse_xml(FRAME.format(SPACES, "How a ship is cleared", related)))
    picture = slide.shapes.add_picture(str(FILES / "image/notice.png"), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "notice.png")
    assert read(presentation) == ["Steps", "Moor", "Unload", "[How a ship is cleared]"]


def test_chart_of_any_kind_has_days_points_and_levels():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Tides")
    days = CategoryChartData()
    days.categories = [datetime.date(2026, 3, 1), datetime.date(2026, 3, 2)]
    days.add_series("high", (4.5, 4.7))
    slide.shapes.add_chart(XL_CHART_TYPE.LINE, 0, 0, Cm(5), Cm(5), days)
    points = XyChartData()
    points.add_series("drift").add_data_point(1.5, 3)
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, Cm(6), Cm(5), Cm(5), points)
    levels = CategoryChartData()
    for name in ("spring", "neap"):
        levels.add_category(name).add_sub_category("high")
    levels.add_series("metres", (5, 3))
    frame = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, Cm(12), Cm(5), Cm(5), levels)
    for plot in frame.chart._chartSpace.iter(f"{CHART}barChart"):
        plot.tag = f"{CHART}surfaceChart"  # which the library doesn't know
    high = [" | high", "2026-03-01 | 4.5", "2026-03-02 | 4.7"]
    surface = [" | metres", "spring high | 5", "neap high | 3"]
    assert read(presentation) == ["Tides", *high, " | drift", "1.5 | 3", *surface]


def test_equation_in_a_box_for_newer_programs_is_read_once():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Speed")
    slide.shapes._spTree.append(parse_xml(EQUATION_BOX.format(SPACES)))
    assert read(presentation) == ["Speed", "A knot is n/h."]


def test_comments_follow_the_slide_and_a_group_has_its_description():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Pier")
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, Cm(5), Cm(3), Cm(1)).text_frame.text = "Lamp"
    group._element.nvGrpSpPr.cNvPr.set("descr", "The pier from the sea")
    for owner, kind, content in [
        (
            presentation.part,
            "commentAuthors",
            '<p:cmAuthorLst {}><p:cmAuthor id="3" name="Ida"/></p:cmAuthorLst>',
        ),
        (slide.part, "comments", '<p:cmLst {}><p:cm authorId="3"><p:text>Too dark</p:text></p:cm></p:cmLst>'),
    ]:
        name = PackURI(f"/ppt/{kind}1.xml")
        part = Part(name, "application/xml", slide.part.package, content.format(SPACES).encode())
        owner.relate_to(part, f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}")
    assert read(presentation) == ["Pier", "[The pier from the sea]", "Lamp", "Comment by Ida: Too dark"]


def test_shapes_are_read_by_their_places():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Plan")
    for text, left, top in (("last", 0, 9), ("right", 8, 4), ("left", 0, 4.2)):
        slide.shapes.add_textbox(Cm(left), Cm(top), Cm(3), Cm(1)).text_frame.text = text
    assert read(presentation) == ["Plan", "left", "right", "last"]


INK = """<p:contentPart {} r:id="rId99"/>"""


def test_picture_as_a_title_and_pen_strokes_cost_no_notes():
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    picture = slide.shapes.add_picture(str(FILES / "image/notice.png"), 0, 0)._element
    title = slide.shapes.title._element
    picture.nvPicPr.nvPr.append(title.nvSpPr.nvPr[0])
    title.getparent().remove(title)
    slide.shapes._spTree.append(parse_xml(INK.format(SPACES)))
    slide.notes_slide.notes_text_frame.text = "Thank the pilots"
    assert read(presentation) == ["Slide 1", "Notes: Thank the pilots"]


def test_odd_shape_is_told_and_the_rest_is_read():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Plan")
    odd = (
        '<p:graphicFrame {}><p:nvGraphicFramePr><p:cNvPr id="9" name="x"/><p:cNvGraphicFramePr/><p:nvPr/>'
        "</p:nvGraphicFramePr></p:graphicFrame>"
    )
    slide.shapes._spTree.append(parse_xml(odd.format(SPACES)))
    slide.notes_slide.notes_text_frame.text = "Last words"
    file = io.BytesIO()
    presentation.save(file)
    parsed = parse(file.getvalue(), "a.pptx")
    assert [line for line in parsed.outline.lines if line] == ["Plan", "Notes: Last words"]
    assert [(each.kind, each.where) for each in parsed.omissions] == [("unreadable_parts", ("slide 1",))]


def test_targets_of_links_follow_the_shapes():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Archive")
    for text, target in (
        ("old", "https://example.org/old"),
        ("https://example.org/new", "https://example.org/new"),
    ):
        run = slide.shapes.add_textbox(0, Cm(5), Cm(3), Cm(1)).text_frame.paragraphs[0].add_run()
        run.text, run.hyperlink.address = text, target
    assert read(presentation) == [
        *("Archive", "old", "https://example.org/new", "Link: old (https://example.org/old)")
    ]


def test_footers_are_told_and_boxes_beside_the_notes_are_read():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Plan")
    for layout in list(presentation.slide_layouts[5].placeholders):
        if layout.placeholder_format.idx in (11, 12):  # footer and page number
            slide.shapes.clone_placeholder(layout)
    footer, number = (each for each in slide.placeholders if each.placeholder_format.idx in (11, 12))
    footer.text_frame.text, number.text_frame.text = "For the crew only", "7"
    slide.shapes._spTree.append(parse_xml(LINKED.format(SPACES, link_to(slide))))
    slide.notes_slide.notes_text_frame.text = "Last words"
    box = slide.notes_slide.shapes._spTree
    box.append(parse_xml(slide.shapes.add_textbox(0, 0, 1, 1)._element.xml.replace("<a:p/>", BOXED)))
    file = io.BytesIO()
    presentation.save(file)
    parsed = parse(file.getvalue(), "a.pptx")
    assert [line for line in parsed.outline.lines if line] == ["Plan", "Notes: Last words", "Ask Ada"]
    assert [(each.kind, each.amount) for each in parsed.omissions] == [("repeated_lines", 1)]


BOXED = "<a:p><a:r><a:t>Ask Ada</a:t></a:r></a:p>"
LINKED = """<p:graphicFrame {}><p:nvGraphicFramePr><p:cNvPr id="9" name="L"/><p:cNvGraphicFramePr/><p:nvPr/>
</p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="1" cy="1"/></p:xfrm><a:graphic><a:graphicData
uri="http://schemas.openxmlformats.org/presentationml/2006/ole"><p:oleObj r:id="{}"><p:link/></p:oleObj>
</a:graphicData></a:graphic></p:graphicFrame>"""


def link_to(slide):
    """Return the relation of a slide to a linked workbook."""
    return slide.part.relate_to("file:///tides.xlsx", f"{DIAGRAM[:-11]}oleObject", is_external=True)
