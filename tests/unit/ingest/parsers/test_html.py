"""HTML pages: blocks with their lines in the file, and omitted parts of a site."""

import pytest

from ingest.parsers.omissions import Omission
from ingest.parsers.registry import parse
from ingest.parsers.types import LineSpan, ParsedDocument

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
TEXT = ("words and more words " * 20).strip()


def parsed_page(page: bytes | str = PAGE) -> ParsedDocument:
    return parse(page.encode() if isinstance(page, str) else page, "a.html")


def text_of(parsed: ParsedDocument, number: int) -> list[str]:
    span = parsed.outline.blocks[number].span
    return list(parsed.outline.lines[span.start - 1 : span.end])


def lines_of(page: str) -> list[str]:
    return [line for line in parsed_page(page).outline.lines if line]


def test_page_is_read_block_by_block_with_spans_of_the_source():
    parsed = parsed_page()
    blocks = parsed.outline.blocks
    assert [(block.kind, block.level, text_of(parsed, n)) for n, block in enumerate(blocks)] == [
        ("heading", 1, ["Deploying"]),
        ("paragraph", 0, ["First paragraph of text."]),
        ("list", 0, ["one"]),
        ("list", 0, ["two"]),
        ("list", 0, ["inner"]),
        ("table", 0, ["Name | Port", "web | 8000"]),
        ("code", 0, ["def run():", "    pass"]),
        ("heading", 2, ["After", "wards"]),
        ("paragraph", 0, ["tail text"]),
    ]
    assert (blocks[7].text, blocks[6].language) == ("After wards", "python")
    assert (parsed.title, parsed.metadata["description"]) == ("Deploy & run", "How to deploy")
    spans = [parsed.source_span(block.span.start, block.span.end) for block in blocks]
    assert [(span.start, span.end) for span in (*spans[:2], spans[5])] == [(8, 8), (9, 11), (13, 14)]
    source = PAGE.decode().splitlines()
    assert source[spans[6].start - 1 : spans[6].end] == ["def run():", "    pass"]


def test_unclosed_navigation_element_does_not_hide_the_page():
    assert text_of(parsed_page("<nav><a>menu</a><p>the text"), -1) == ["the text"]


def test_hostile_pages_are_read():
    for content in ("", "<", "<p", "<!--", "</p></p>", "<div>" * 50_000 + "x", "<script>x", "&#x110000;"):
        assert parsed_page(content).parser in ("html", "text")


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


def test_parts_of_the_site_are_left_out():
    lines = lines_of(SITE)
    assert lines[:2] == ["Install", "Mind the step"]
    assert lines[3:] == ["Quoted.", "Who said it"]
    assert parsed_page(SITE).title == "Install"  # its title only adds the site's name


def test_text_is_not_taken_for_a_part_of_the_site(subtests):
    for page, lines in [
        (f"<header>Logo</header><h1>Title</h1><p>{TEXT}", ["Title", TEXT]),
        (f"<header><h1>Title</h1></header><p>{TEXT}", ["Title", TEXT]),
        (
            f"<main><h1>Title</h1><p>By A.</p><figcaption>Lamp</figcaption><article>{TEXT}</article></main>",
            ["Title", "Lamp", TEXT],
        ),
        (f"<main>hello</main><div>{TEXT}</div>", ["hello", TEXT]),
        (f'<div class="sidebar"><p>{TEXT}</p></div>', [TEXT]),
        (f'<p>{TEXT}</p><div id="footer"><p>Imprint</p></div>', [TEXT]),
        ("<p>See <a>one</a>\n<a>two</a><br>three", ["See one two", "three"]),
        (
            "<table><tr><td><p>Alpha</p><p>Beta</p></td><td><ul><li>one</li><li>two</li></ul></td></tr></table>",
            ["Alpha Beta | one two"],
        ),
    ]:
        with subtests.test(case=page[:60]):
            assert lines_of(page) == lines
    for element in ["section", 'div class="section"', "span", "a"]:
        for id_ in ["cookies", "related", "toc", "cookie-based-sessions"]:  # made from titles
            section = f'<{element} id="{id_}"><h2>Title</h2><p>Its text.</p></{element.partition(" ")[0]}>'
            with subtests.test(case=section):
                assert lines_of(f"<p>{TEXT}</p>{section}")[1:] == ["Title", "Its text."]


def test_tables_in_a_row_are_blocks_and_code_has_the_language_named_around_it():
    page = "<table><tr><td>a<td>b</table><table><tr><td>c<td>d<tr><td>e<td>f</table>"
    blocks = parsed_page(page).outline.blocks
    assert [(each.kind, each.span) for each in blocks] == [
        ("table", LineSpan(1, 1)),
        ("table", LineSpan(3, 4)),
    ]
    page = '<div class="highlight-python3 x"><div class="highlight"><pre>x</pre></div></div><pre>y</pre>'
    assert [block.language for block in parsed_page(page).outline.blocks] == ["python", None]


def test_page_in_a_layout_table_keeps_its_headings():
    cell = "<h1>Manual</h1><p>First.</p><h2>Install</h2><p>Second.</p>"
    parsed = parsed_page(f"<table><tr><td>Menu</td><td>{cell}</td></tr></table>")
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
def test_code_with_numbered_lines_keeps_its_lines_without_numbers(around):
    parsed = parsed_page(around.format("<pre>def f()\n  return 1\n</pre>"))
    (code,) = parsed.outline.blocks
    assert (code.kind, code.language, text_of(parsed, 0)) == ("code", "ruby", ["def f()", "  return 1"])


@pytest.mark.parametrize("reference", ["&#10;", "&#x0A;", "&#010", "&NewLine;", "<br>"])
def test_escaped_line_end_does_not_shift_lines_of_the_file(reference):
    outline = parsed_page(f"<pre>a{reference}b\nc</pre>\n<p>x{reference}y</p>").outline
    places = [(line, span.start, span.end) for line, span in zip(outline.lines, outline.origins, strict=True)]
    assert places[:3] == [("a", 1, 1), ("b", 1, 1), ("c", 2, 2)]
    assert {place[1:] for place in places[3:]} == {(3, 3)}


def test_text_for_pictures_is_read_and_stands_in_for_headings_without_words(subtests):
    for page, lines in [
        ('<p>The <img src=a.png alt="north quay at\nebb"> in May', ["The north quay at ebb in May"]),
        (
            '<figure><img alt="Plan of the lock"><figcaption>Fig. 1</figcaption></figure>',
            ["Plan of the lock", "Fig. 1"],
        ),
        ('<h1><img alt="Logo"> Berths</h1><p>x', ["Berths", "x"]),
        ('<h1><img alt="Harbour office"></h1><p>x', ["Harbour office", "x"]),
        ('<p>x<img src=a.png><img alt="">y', ["x y"]),
        ('<table><tr><td><img alt="open"><td>gate</table>', ["open | gate"]),
    ]:
        with subtests.test(case=page):
            assert lines_of(page) == lines


def test_definitions_stand_behind_their_terms(subtests):
    for page, lines in [
        (
            "<dl><dt>Ebb</dt><dd>Falling <b>tide</b></dd><dt>Slack<dd>No tide</dl><p>x",
            ["Ebb: Falling tide", "Slack: No tide", "x"],
        ),
        (
            "<dl><dt>Ebb:</dt><dd><p>Falling tide.</p><p>Twice a day.</p></dd></dl>",
            ["Ebb: Falling tide.", "Twice a day."],
        ),
        ("<dl><dt>Ebb<dt>Reflux<dd>Falling tide<dd>Decline</dl>", ["Ebb", "Reflux: Falling tide", "Decline"]),
        ("<dl><div><dt>Ebb</dt><dd>Falling<br>tide</dd></div></dl>", ["Ebb: Falling", "tide"]),
        ("<dl><dt>Use</dt><dd><pre>run\nnow</pre></dd></dl>", ["Use", "run", "now"]),
    ]:
        with subtests.test(case=page):
            assert lines_of(page) == lines
    (block,) = parsed_page("<dl>\n<dt>Ebb</dt>\n<dd>Falling\ntide</dd></dl>").outline.blocks
    assert (block.kind, parsed_page("<dl>\n<dt>Ebb\n<dd>Falling\ntide").source_span(1, 1)) == (
        "list",
        LineSpan(2, 4),
    )


def test_short_main_part_is_preferred_to_long_navigation(subtests):
    links = "".join(f"<li><a href=/{n}>Berth number {n} of the quay</a></li>" for n in range(80))
    main = "<main><h1>Berths</h1><p>Ask the harbour master.</p></main>"
    for menu in (f"<ul>{links}</ul>", f"<nav>{links}</nav>", f'<div class="cookie-banner">{TEXT}</div>'):
        with subtests.test(case=menu[:30]):
            assert lines_of(f"<body>{menu}{main}</body>") == ["Berths", "Ask the harbour master."]


def test_title_is_without_the_names_of_the_site(subtests):
    for title, heading, expected in [
        ("Berths | Harbour", "Berths", "Berths"),
        ("Harbour » Berths » Manual", "Berths", "Berths"),
        ("Berthsides of the quay", "Berths", "Berthsides of the quay"),
        ("Quays", "Berths", "Quays"),
    ]:
        with subtests.test(case=title):
            assert parsed_page(f"<title>{title}</title><h1>{heading}</h1><p>x").title == expected


def test_authors_and_dates_of_a_page_are_metadata(subtests):
    article = '{"author": {"name": "Bo Carp"}, "datePublished": "2024-05-31T08:00:00+02:00"}'
    linked = f'<script type="application/ld+json">{{"@graph": [{{"@type": "WebSite"}}, {article}]}}</script>'
    for head, stated in [
        (
            '<meta name="author" content="Ada Pike"><meta name="Author" content="Bo Carp">',
            {"author": "Ada Pike, Bo Carp"},
        ),
        (
            '<meta property="article:published_time" content="2024-05-31T10:00:00Z">'
            '<meta property="article:author" content="https://x.example/ada">',
            {"created": "2024-05-31T10:00:00+00:00"},
        ),
        (
            '<meta name="DCTERMS.modified" content="2024-05-31"><meta name="date" content="soon">',
            {"modified": "2024-05-31"},
        ),
        ('<p><time itemprop="datePublished" datetime="2024-05-31">May</time>', {"created": "2024-05-31"}),
        (linked, {"author": "Bo Carp", "created": "2024-05-31T08:00:00+02:00"}),
        (
            linked + '<meta name="author" content="Ada Pike">',
            {"author": "Ada Pike", "created": "2024-05-31T08:00:00+02:00"},
        ),
        ('<script type="application/ld+json">[{"author": ' + "[" * 50_000 + "</script>", {}),
        ('<script type="application/ld+json">7</script>', {}),
    ]:
        with subtests.test(case=head[:60]):
            assert dict(parsed_page(f"<title>x</title>{head}<p>words").metadata) == stated


LEAD = f"<h1>Help</h1><p>{TEXT}</p>"


def main_lines(body):
    """Return the lines below the lead of a page's main part."""
    return lines_of(f"<main>{LEAD}{body}</main>")[2:]


def test_panels_that_a_reader_opens_are_read(subtests):
    panel = '<div role="tabpanel" {}><p>Use the winget package.</p></div>'
    for body in [
        panel.format("hidden"),
        panel.format('aria-hidden="true"'),
        panel.format('style="display: none"'),
        '<section role="tabpanel" aria-hidden="true" hidden="hidden">Use the winget package.</section>',
        '<div class="accordion-collapse collapse" style="display:none">Use the winget package.</div>',
        '<div hidden="until-found">Use the winget package.</div>',
        '<div class="x" hidden>Use the winget package in an elevated shell.</div>',
    ]:
        with subtests.test(case=body):
            assert main_lines(body)[0].startswith("Use the winget package")
    for body in [
        panel.format("hidden"),
        '<button aria-controls="a">Ask</button><div id="a" hidden>Told.</div>',
    ]:
        with subtests.test(without_main=body):
            assert lines_of(f"{LEAD}{body}")[-1] in ("Use the winget package.", "Told.")


def test_what_stays_hidden_is_reported(subtests):
    for body in [
        '<span aria-hidden="true">ornament</span>',
        '<div aria-hidden="true">ornament</div>',
        '<div style="visibility:hidden">ornament</div>',
    ]:
        with subtests.test(case=body):
            page = parsed_page(f"<main>{LEAD}{body}</main>")
            assert "ornament" not in "".join(page.outline.lines)
            assert page.omissions == (Omission(kind="hidden_text", amount=8),)


def test_buttons_are_read_but_for_tools_of_the_page(subtests):
    for body, lines in [
        ("<h3><button aria-expanded=false>Dogs on board?</button></h3><p>Yes.", ["Dogs on board?", "Yes."]),
        ("<p>Press <button>Save</button>.", ["Press Save."]),
        ("<button>Save</button><button>Undo</button>", ["Save Undo"]),
        ('<button class="btn-clipboard">Copy</button><p>x', ["x"]),
        ('<button title="Toggle theme">Dark</button><p>x', ["x"]),
        ("<pre>run<button>Ausprobieren</button></pre>", ["run"]),
        ("<textarea>A letter to\nthe pilot</textarea>", ["A letter to the pilot"]),
    ]:
        with subtests.test(case=body):
            assert main_lines(body) == lines


def test_shadow_trees_are_read_and_other_templates_are_not():
    body = '<x-card><template shadowrootmode="open"><p>In the shade.</p></template></x-card>'
    assert main_lines(body + "<template><p>A row</p></template>") == ["In the shade."]


def test_sections_named_like_parts_of_a_site_are_read_if_they_are_prose(subtests):
    prose = "<h2>Related incidents</h2><p>The gate of the lock failed twice in March.</p>"
    links = "".join(f"<li><a href=/{n}>Incident number {n}</a></li>" for n in range(5))
    for name in ("related", "social", "newsletter-archive", "sidebar", "cookie-policy"):
        with subtests.test(name=name):
            assert len(main_lines(f'<div class="{name}">{prose}</div>')) == 2
            assert main_lines(f'<div class="{name}"><ul>{links}</ul></div>') == []
    outside = parsed_page(f'{LEAD}<div class="cookie-banner">{TEXT}</div>')
    assert outside.omissions == (Omission(kind="site_parts", amount=len(TEXT)),)


def test_readings_of_ruby_stand_behind_the_text(subtests):
    for body, line in [
        (
            "<ruby>係留<rp>(</rp><rt>けいりゅう</rt><rp>)</rp></ruby><ruby>料金<rt>りょうきん</rt></ruby>は",
            "係留料金は (けいりゅう りょうきん)",
        ),
        ("<ruby>係<rt>けい</rt>留<rt>りゅう</rt></ruby>する", "係留する (けいりゅう)"),
        ("<ruby>霧<rt>む<rt>む</ruby>笛", "霧笛 (むむ)"),
    ]:
        with subtests.test(case=body):
            assert main_lines(f"<p>{body}</p>") == [line]


def test_words_of_neighbouring_boxes_stand_apart_and_split_words_do_not(subtests):
    for body, line in [
        ('<span class="label">Vessel</span><span class="value">tern</span>', "Vessel tern"),
        ("<a href=/a>dredging</a><a href=/b>pilotage</a>", "dredging pilotage"),
        ("<dl-card>Alpha berth</dl-card><dl-card>Beta berth</dl-card>", "Alpha berth Beta berth"),
        ("<b>Vessel</b><span>Merganser</span>", "Vessel Merganser"),
        ("<kbd>Ctrl</kbd><kbd>C</kbd>", "Ctrl C"),
        ('<span class="c1">The night wat</span><span class="c7">ch</span>', "The night watch"),
        ("<span class=SpellE>boi</span><span>lers</span>", "boilers"),
        ("<a href=/x>boi</a><a href=/x>lers</a>", "boilers"),
        ("<b>b</b><i>old</i>", "bold"),
        ('<code><span class="name">max</span><span class="name">Size</span></code>', "maxSize"),
        ('<span class="letter">W</span><span class="letter">o</span>', "Wo"),
    ]:
        with subtests.test(case=body):
            assert main_lines(f"<p>{body}</p>") == [line]


def test_titles_and_deletions_of_word_and_google_docs_are_known():
    word = (
        '<p class=MsoTitle>Minutes<o:p></o:p></p><p>Kept <del cite="mailto:a" datetime="2024">gone</del> text'
    )
    parsed = parsed_page(f"<html><body>{word}")
    assert (parsed.title, [line for line in parsed.outline.lines if line]) == (
        "Minutes",
        ["Minutes", "Kept text"],
    )
    assert parsed.omissions == (Omission(kind="deleted_text", amount=4),)
    assert parsed_page('<p class="c3 title" id="h.x"><span>Night watch</span></p><p>x').title == "Night watch"


def test_drawings_with_labels_are_reported():
    drawing = "<svg><title>Icon</title></svg><svg><text>Gate</text></svg>"
    assert parsed_page(f"<main>{LEAD}{drawing}</main>").omissions == (Omission(kind="drawings", amount=1),)


def test_part_of_a_page_under_another_name_is_read_as_html():
    for start in ("", "\ufeff"):
        table = parse(f"{start}<table><tr><td>Berth</td><td>7</td></tr></table>".encode(), "a.xls")
        assert (table.parser, list(table.outline.lines)) == ("html", ["Berth | 7"])
    assert parse(b"<p>words\n", "notes").parser == "text"
