import pytest

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


SITE = """<!doctype html><title>Install - Harbour docs</title>
<body class="sidebar-open"><a class="skip-link" href="#m">Skip to the content</a>
<div class="cookie-banner">We use cookies</div>
<header><a>Logo</a></header>
<div class="sphinxsidebar"><ul><li>Other page</li></ul></div>
<main><div role="navigation">You are here</div>
<article><header><h1>Install<a class="headerlink">¶</a></h1></header>
<aside class="admonition">Mind the step</aside><p>The text of the page, which goes on for a while so that it
is the longest part by far of all that there is to read here, and a little longer.</p>
<blockquote><p>Quoted.</p><footer>Who said it</footer></blockquote>
<div class="theme-doc-footer">Edit this page</div></article>
<div class="bd-toc">On this page</div></main>
<footer>Imprint</footer>"""


def lines_of(page: str) -> list[str]:
    return [line for line in parsed_page(page.encode()).outline.lines if line]


def test_what_belongs_to_the_site_is_left_out():
    lines = lines_of(SITE)
    assert lines[:2] == ["Install", "Mind the step"]
    assert lines[3:] == ["Quoted.", "Who said it"]


def test_a_title_that_only_adds_the_sites_name_is_the_heading():
    assert parsed_page(SITE.encode()).title == "Install"


def test_without_a_main_part_the_pages_header_is_left_out_when_the_heading_is_below():
    text = "words and more words " * 20
    assert lines_of(f"<header>Logo</header><h1>Title</h1><p>{text}") == ["Title", text.strip()]
    assert lines_of(f"<header><h1>Title</h1></header><p>{text}") == ["Title", text.strip()]


def test_a_small_main_part_does_not_hide_the_page():
    text = "words and more words " * 20
    assert lines_of(f"<main>hello</main><div>{text}</div>")[-1] == text.strip()


def test_names_that_mean_something_else_do_not_hide_the_page():
    text = "words and more words " * 20
    assert text.strip() in lines_of(f'<div class="sidebar"><p>{text}</p></div>')


def test_two_tables_in_a_row_are_two_blocks():
    page = "<table><tr><td>a<td>b</table><table><tr><td>c<td>d<tr><td>e<td>f</table>"
    blocks = parsed_page(page.encode()).outline.blocks
    assert [(block.kind, block.span.start, block.span.end) for block in blocks] == [
        ("table", 1, 1),
        ("table", 3, 4),
    ]


def test_a_line_end_between_tags_breaks_no_line():
    assert lines_of("<p>See <a>one</a>\n<a>two</a><br>three") == ["See one two", "three"]


def test_code_has_the_language_named_around_it():
    page = '<div class="highlight-python3 x"><div class="highlight"><pre>x</pre></div></div><pre>y</pre>'
    assert [block.language for block in parsed_page(page.encode()).outline.blocks] == ["python", None]


@pytest.mark.parametrize("element", ["section", 'div class="section"', "span", "a"])
@pytest.mark.parametrize("id_", ["cookies", "related", "toc", "cookie-based-sessions"])
def test_an_id_made_from_a_title_does_not_hide_a_section(element, id_):
    section = f'<{element} id="{id_}"><h2>Title</h2><p>Its text.</p></{element.partition(" ")[0]}>'
    page = f"<p>{'words and more words ' * 20}</p>{section}"
    assert lines_of(page)[1:] == ["Title", "Its text."]


def test_an_id_of_the_sites_own_part_hides_it():
    text = "words and more words " * 20
    assert lines_of(f'<p>{text}</p><div id="footer"><p>Imprint</p></div>') == [text.strip()]


def test_blocks_in_a_cell_do_not_run_together():
    page = (
        "<table><tr><td><p>Alpha</p><p>Beta</p></td><td><ul><li>one</li><li>two</li></ul></td></tr></table>"
    )
    assert lines_of(page) == ["Alpha Beta | one two"]


def test_a_page_in_a_layout_table_keeps_its_headings():
    cell = "<h1>Manual</h1><p>First.</p><h2>Install</h2><p>Second.</p>"
    page = f"<table><tr><td>Menu</td><td>{cell}</td></tr></table>"
    parsed = parsed_page(page.encode())
    assert [(block.kind, text_of(parsed, n)) for n, block in enumerate(parsed.outline.blocks)] == [
        ("table", ["Menu"]),
        ("heading", ["Manual"]),
        ("paragraph", ["First."]),
        ("heading", ["Install"]),
        ("paragraph", ["Second."]),
    ]


@pytest.mark.parametrize(
    "around",
    [
        '<div class="language-ruby highlighter-rouge"><div class="highlight"><pre><code><table><tr>'
        '<td class="rouge-gutter gl"><pre class="lineno">1\n2\n</pre></td><td class="rouge-code">{}</td>'
        "</tr></table>",
        '<div class="highlight-ruby"><table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre>'
        '</td><td class="code"><div>{}</div></td></tr></table></div>',
    ],
    ids=["Rouge", "Sphinx"],
)
def test_code_with_numbered_lines_keeps_its_lines_and_no_numbers(around):
    parsed = parsed_page(around.format("<pre>def f()\n  return 1\n</pre>").encode())
    (code,) = [number for number, block in enumerate(parsed.outline.blocks) if block.kind == "code"]
    assert text_of(parsed, code) == ["def f()", "  return 1"]
    assert parsed.outline.blocks[code].language == "ruby"
    assert len(parsed.outline.blocks) == 1


@pytest.mark.parametrize("reference", ["&#10;", "&#x0A;", "&#010", "&NewLine;", "<br>"])
def test_a_line_end_that_is_written_out_is_no_line_of_the_file(reference):
    outline = parsed_page(f"<pre>a{reference}b\nc</pre>\n<p>x{reference}y</p>".encode()).outline
    places = [(line, span.start, span.end) for line, span in zip(outline.lines, outline.origins, strict=True)]
    assert places[:3] == [("a", 1, 1), ("b", 1, 1), ("c", 2, 2)]
    assert {place[1:] for place in places[3:]} == {(3, 3)}
