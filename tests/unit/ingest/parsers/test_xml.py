"""XML of texts in many vocabularies is read as text, configuration and data as code."""

import pytest

from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse

DOCBOOK = b"""<?xml version="1.0"?>
<!DOCTYPE article [<!ENTITY product "Crane">]>
<article><title>Quay</title>
<section><title>Crane <emphasis>nine</emphasis></title>
<para>Lift <emphasis>nine</emphasis> tonnes.</para>
<itemizedlist><listitem><para>Brake</para></listitem></itemizedlist>
<programlisting>lift --now
</programlisting></section></article>"""
NOTES = b"""<en-export><note><title>Rope</title><content><![CDATA[<?xml version="1.0"?>
<en-note><div>Grease &amp; <b>log</b></div></en-note>]]></content>
<resource><data>AAAA</data></resource></note></en-export>"""


def blocks(content, path="a.xml"):
    parsed = parse(content, path)
    lines = parsed.outline.lines
    return [
        (block.kind, " / ".join(lines[block.span.start - 1 : block.span.end]))
        for block in parsed.outline.blocks
    ]


def test_vocabularies_of_texts_have_headings_items_and_code():
    assert blocks(DOCBOOK) == [
        ("heading", "Quay"),
        ("heading", "Crane nine"),
        ("paragraph", "Lift nine tonnes."),
        ("paragraph", "Brake"),
        ("code", "lift --now"),
    ]
    outline = parse(DOCBOOK, "a.dbk").outline
    assert [block.level for block in outline.blocks] == [1, 2, 0, 0, 0]
    assert outline.origins[0].start == 3


def test_text_of_each_vocabulary_flows_as_its_elements_mean(subtests):
    for content, expected in (
        (NOTES, [("heading", "Rope"), ("paragraph", "Grease & log")]),
        (
            b"<FictionBook><body><title><p>A</p><p>B</p></title><section><p>One <i>two</i>.</p></section>"
            b"</body><binary>/9j/4AAQ</binary></FictionBook>",
            [("heading", "A B"), ("paragraph", "One two.")],
        ),
        (
            b'<opml><head><title>Plan</title></head><body><outline text="Dock"><outline text="Hull"/>'
            b"</outline></body></opml>",
            [("heading", "Plan"), ("list", "Dock"), ("list", "Hull")],
        ),
        (
            b'<Workbook><Worksheet ss:Name="Berths"><Table><Row><Cell><Data>A</Data></Cell>'
            b"<Cell><Data>4</Data></Cell></Row></Table></Worksheet></Workbook>",
            [("paragraph", "Berths"), ("table", "A | 4")],
        ),
        (
            b"<w:wordDocument><w:p><w:r><w:t>Hel</w:t></w:r><w:r><w:t>lo</w:t></w:r></w:p></w:wordDocument>",
            [("paragraph", "Hello")],
        ),
        (
            b"<log><entry>The crane was greased by the night crew.</entry>"
            b"<entry>It <i>held</i> nine tonnes well.</entry></log>",
            [
                ("paragraph", "The crane was greased by the night crew."),
                ("paragraph", "It held nine tonnes well."),
            ],
        ),
    ):
        with subtests.test(content=content[:30]):
            assert blocks(content) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"<project><description>A long description of the whole build.</description></project>",
        b"<rows><row><id>1</id><amount>12.5</amount></row></rows>",
        b"<urlset><url><loc>https://a.example/b</loc></url></urlset>",
    ],
)
def test_configuration_and_data_stay_code(content):
    assert parse(content, "a.xml").media == "code"


def test_entity_bombs_are_refused():
    with pytest.raises(ParseRefused, match="entities"):
        parse(b'<!DOCTYPE book [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><book>&c;</book>', "a.xml")
