"""Presentations: charts, diagrams and descriptions of pictures."""

import io

from pptx import Presentation
from pptx.chart.data import CategoryChartData
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


def test_shapes_are_read_by_their_places():
    presentation = Presentation()
    slide = slide_with_title(presentation, "Plan")
    for text, left, top in (("last", 0, 9), ("right", 8, 4), ("left", 0, 4.2)):
        slide.shapes.add_textbox(Cm(left), Cm(top), Cm(3), Cm(1)).text_frame.text = text
    assert read(presentation) == ["Plan", "left", "right", "last"]
