from ingest.parsers.registry import parse
from ingest.parsers.types import ParsedDocument

PAGE = b"""<!doctype html>
<html><head><title>Deploy &amp; run</title>
<meta name="description" content="How to deploy">
<style>.hidden { x: y }</style>
<script>var secret = "<p>no</p>";</script></head>
<body>
<nav><a href="/">Home</a></nav>
<h1>Deploying</h1>
<p>First
   <b>paragraph</b> of
   text.</p>
<ul><li>one<li>two <ul><li>inner</ul></ul>
<table><tr><th>Name</th><th>Port</th></tr>
<tr><td>web</td><td>8000</td></tr></table>
<pre><code class="language-python">
def run():
    pass

</code></pre>
<h2>After<br>wards</h2>
tail text
</body></html>
"""


def parsed_page(content: bytes = PAGE) -> ParsedDocument:
    return parse(content, "a.html")


def text_of(parsed: ParsedDocument, number: int) -> list[str]:
    span = parsed.outline.blocks[number].span
    return list(parsed.outline.lines[span.start - 1 : span.end])


def test_blocks_carry_readable_text():
    parsed = parsed_page()
    texts = [text_of(parsed, number) for number in range(len(parsed.outline.blocks))]
    assert texts == [
        ["Deploying"],
        ["First paragraph of text."],
        ["one"],
        ["two"],
        ["inner"],
        ["Name | Port", "web | 8000"],
        ["def run():", "    pass"],
        ["After", "wards"],
        ["tail text"],
    ]


def test_kinds_levels_and_languages_are_kept():
    blocks = parsed_page().outline.blocks
    assert [block.kind for block in blocks] == [
        *["heading", "paragraph", "list", "list", "list", "table", "code", "heading", "paragraph"]
    ]
    assert (blocks[0].level, blocks[7].level, blocks[7].text) == (1, 2, "After wards")
    assert blocks[6].language == "python"


def test_spans_point_at_lines_of_the_source():
    parsed = parsed_page()
    source = PAGE.decode().splitlines()
    spans = [parsed.source_span(b.span.start, b.span.end) for b in parsed.outline.blocks]
    assert [(span.start, span.end) for span in spans[:2]] == [(8, 8), (9, 11)]
    code = spans[6]
    assert source[code.start - 1 : code.end] == ["def run():", "    pass"]
    assert (spans[5].start, spans[5].end) == (13, 14)


def test_title_and_description_are_stated_by_the_page():
    parsed = parsed_page()
    assert (parsed.title, parsed.metadata["description"]) == ("Deploy & run", "How to deploy")


def test_scripts_styles_and_navigation_are_left_out():
    text = "\n".join(parsed_page().outline.lines)
    assert not any(word in text for word in ("secret", "hidden", "Home"))


def test_navigation_that_never_closes_hides_nothing():
    assert text_of(parsed_page(b"<nav><a>menu</a><p>the text"), -1) == ["the text"]


def test_hostile_pages_are_read():
    for content in (
        b"",
        b"<",
        b"<p",
        b"<!--",
        b"</p></p>",
        b"<div>" * 50_000 + b"x",
        b"<script>x",
        b"&#x110000;",
    ):
        parsed_page(content)


def test_charset_of_an_old_page_is_found():
    page = '<meta charset="windows-1251"><p>' + "Настройка сервера и развёртывание. " * 10
    assert "Настройка" in "".join(parsed_page(page.encode("cp1251")).outline.lines)
