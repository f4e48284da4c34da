"""The document page of Markdown: rendered, safe, in sections, with cited lines marked."""

import html
import re

import pytest

from tests.pages.search.shelf import Passage, shelve


def address(document, query=""):
    return f"/w/handbook/documents/{document.doc_id.hex}{query}"


def page_of(visitor, document, **parameters):
    response = visitor.get(address(document), parameters)
    assert response.status_code == 200
    return response.content.decode()


def rendered_part(page):
    return re.search(
        r'<div class="rendered">(.*)</div>\s*(?:<p class="more">.*)?</section>', page, re.DOTALL
    )[1]


@pytest.fixture
def add(workspace):
    def add_markdown(text, path="docs/guide.md", **fields):
        return shelve(workspace, path, text, **{"passages": [Passage(text="x")], **fields})

    return add_markdown


def line_ids(page):
    return [int(number) for number in re.findall(r'id="L(\d+)"', page)]


KINDS = """# One

A *first* paragraph
of two lines.

- item
  - inner

1. step

| a | b |
|:--|--:|
| 1 | 2 |

> said

```python
x = 1

y = 2
```

    indented

---

Last.
"""


def test_markdown_is_shown_as_what_it_means_and_every_line_can_be_linked_to(visitor, add):
    page = page_of(visitor, add(KINDS))
    shown = rendered_part(page)

    for written in ("<em>first</em>", "<blockquote", "<ul", "<ol", "<table", "<hr", ">One</h2>"):
        assert written in shown
    assert "# One" not in shown
    assert "style=" not in shown
    assert sorted(line_ids(page)) == list(range(1, KINDS.count("\n") + 1))


def test_block_of_a_cited_line_is_marked_and_no_other(visitor, add, subtests):
    document = add(KINDS)
    for line, marked in (
        (1, r'<h2 class="[^"]*cited[^"]*"'),
        (4, r'<p id="L3" class="cited">A <em>first'),
        (6, r'<span id="L6" class="cited tight">item'),
        (7, r'<span id="L7" class="cited tight">inner'),
        (13, r'<tr id="L13" class="cited">\s*<td>1'),
        (20, r'<span class="line cited" id="L20">y <?'),
    ):
        with subtests.test(line=line):
            page = rendered_part(page_of(visitor, document, start=line, end=line))
            assert re.search(marked, page), page
            assert len(re.findall(r'class="[^"]*\bcited\b', page)) == 1


def test_rendered_markdown_links_to_its_source_lines(visitor, add):
    document = add(KINDS)
    page = page_of(visitor, document, start=4, end=4, q="x")
    link = html.unescape(re.search(r'<a href="([^"]+)">Source</a>', page)[1])
    source = visitor.get(address(document, link)).content.decode()

    assert '<li id="L4" class="cited">' in source
    assert "A *first* paragraph" in source
    assert link.endswith("#L4")
    assert "view=source" not in re.search(r'<a href="([^"]+)">Document</a>', source)[1]


def test_other_text_than_markdown_is_shown_by_lines(visitor, add):
    page = page_of(visitor, add("# not a heading", path="a.txt", mime="text/plain"))

    assert '<li id="L1">' in page
    assert "Rendered" not in page


HOSTILE = [
    "<script>alert(1)</script>",
    "text <img src=x onerror=alert(1)> text",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "![a](data:image/png;base64,iVBORw0KGgo=)",
    "[a](vbscript:x)",
    "[a](//evil.example/x)",
    "![a](//evil.example/x)",
    "[a](/admin/)",
    "[a](https://[host:port]/path)",
    "![a](https://[host:port]/path)",
    "<http://[2001:db8::x]/>",
    "[a](//[x/y)",
    '[a](x "y" onmouseover=alert(1))',
    '```"><script>alert(1)</script>\nx\n```',
    '# <b onmouseover=alert(1)> "><script>',
    "<svg/onload=alert(1)>",
    "<style>*{display:none}</style>",
    '![" onerror="alert(1)](https://evil.example/x.png)',
]


def test_markdown_runs_and_loads_nothing(visitor, add, subtests):
    for text in HOSTILE:
        with subtests.test(text=text):
            page = rendered_part(page_of(visitor, add(text)))
            tags = re.findall(r"<(\w+)([^>]*)>", page)
            named = [(rest, re.sub(r'"[^"]*"', '""', rest)) for _, rest in tags]
            assert not {tag for tag, _ in tags} & {"script", "style", "svg", "iframe", "b", "img"}
            assert not [rest for rest, bare in named if re.search(r"\son\w+=|style=|src=", bare)]
            assert not re.search(r'href="(?!#|https://evil\.example/x\.png")', page)


def test_picture_and_badge_of_another_host_are_links_and_not_loaded(visitor, add):
    page = rendered_part(page_of(visitor, add("![The map](https://maps.example/a.png)")))
    assert "<img" not in page
    assert 'href="https://maps.example/a.png" rel="noopener noreferrer nofollow">The map</a>' in page

    page = rendered_part(page_of(visitor, add("[![build](https://ci.example/b.svg)](https://ci.example/)")))
    assert re.search(r'<a href="https://ci.example/"[^>]*>build</a>', page)
    assert "b.svg" not in page


def test_relative_links_lead_to_existing_documents(visitor, add):
    install = add("# x", path="docs/setup/install.md")
    index = add("# x", path="docs/setup/README.md")
    there = "[a](setup/install.md#on-linux) [b](./setup/) [c](../docs/setup/install.html)"
    text = f"{there} [d](gone.md) [e](../../../x.md)"
    page = rendered_part(page_of(visitor, add(text)))

    assert re.findall(r'<a href="([^"]+)">(\w)</a>', page) == [
        (f"{address(install)}#h-on-linux", "a"),
        (address(index), "b"),
        (address(install), "c"),
    ]
    assert " d e</p>" in page


def test_all_of_many_links_lead_to_their_neighbours(visitor, add):
    names = [f"{n}.md" for n in range(300)]
    for name in names[::30]:
        add("# x", path=f"docs/{name}")
    page = rendered_part(page_of(visitor, add(" ".join(f"[{name}]({name})" for name in names))))

    assert re.findall(r">(\d+\.md)</a>", page) == names[::30]


def test_comments_are_hidden_and_text_between_them_shown(visitor, add):
    for written, is_shown in (
        ("<!-- a -->", False),
        ("<!-- a\nb --> <!-- c -->", False),
        ("<!-- a --> Important <!-- b -->", True),
    ):
        page = rendered_part(page_of(visitor, add(f"# A\n\n{written}\n\nEnd.")))
        assert ("Important" in page) is ("&lt;!--" in page) is is_shown, written


def test_a_picture_beside_the_document_is_shown(visitor, add):
    picture = add("PNG", path="docs/img/a.png", media="image", mime="image/png")
    add("SVG", path="docs/img/b.svg", media="image", mime="image/svg+xml")
    page = rendered_part(page_of(visitor, add("![Plan](img/a.png) ![Drawing](img/b.svg)")))

    assert f'<img src="{address(picture)}/picture" alt="Plan" loading="lazy">' in page
    assert page.count("<img") == 1
    assert ">Drawing</a>" in page


def test_a_link_within_the_document_leads_to_its_heading(visitor, add):
    page = rendered_part(
        page_of(visitor, add("[a](#on-linux-1) [b](#nowhere)\n\n# On Linux\n\n# On *Linux*"))
    )

    assert 'href="#h-on-linux-1">a</a> b' in page
    assert page.count('id="h-on-linux-1"') == page.count('id="h-on-linux"') == 1


def test_headings_go_down_in_steps_of_one_whatever_their_script(visitor, add):
    end = "###### שלום 🎉\n\nمرحبا **بالعالم**"
    page = rendered_part(page_of(visitor, add(f"### a\n\n# b\n\n#### c\n\n#### d\n\n## e\n\n{end}")))

    assert re.findall(r"<h(\d)", page) == ["2", "2", "3", "3", "3", "4"]
    assert "שלום 🎉</h4>" in page
    assert "<strong>بالعالم</strong>" in page


def test_front_matter_is_shown_as_source(visitor, add):
    page = rendered_part(page_of(visitor, add("---\ntitle: The guide\n---\n\n# Start\n")))

    header = re.search(r'<span class="line" id="L2">(.*)', page)[1]
    assert re.sub(r"<[^>]*>", "", header) == "title: The guide"
    assert "<hr" not in page


def long_guide(sections=400):
    body = "\n".join(f"## Part {n}\n\nStep {n}.\n\n- a\n- b\n" for n in range(sections))
    return f"# Long\n\n{body}"


def test_a_long_document_is_read_in_stretches_that_begin_with_a_block(visitor, add):
    text = long_guide()
    lines = text.split("\n")
    document = add(text)
    page, seen = page_of(visitor, document), []
    while True:
        shown = re.search(r"Lines (\d+)–(\d+) of", page)
        first, last = int(shown[1]), int(shown[2])
        assert first == 1 or (lines[first - 2] == "" and lines[first - 1] != "")
        assert 300 <= last - first + 1 <= 600 or 'rel="next"' not in page
        seen += range(first, last + 1)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        if following is None:
            break
        page = visitor.get(address(document, html.unescape(following[1]))).content.decode()

    assert seen == list(range(1, text.count("\n") + 1))
    assert 'rel="prev"' in page


def test_deep_link_opens_the_stretch_that_holds_the_line(visitor, add):
    page = page_of(visitor, add(long_guide()), start=1505, end=1506)

    assert 'id="L1505"' in page
    assert "cited" in rendered_part(page)


def test_links_lead_to_headings_and_by_references_that_are_not_shown(visitor, add):
    links = "[a](#part-390) [b](#set-ext) [c](#part-1-1) [d](#no-heading) [e][Far] [f] [g][text]\n\n"
    end = [
        *(
            "Set *ext*",
            "===",
            "",
            "## Part 1",
            "",
            "```",
            "# No heading",
            "[f]: https://f.example/",
            "```",
            "",
        ),
        *("[far]: https://e.example/ 'Title'", "[js]: javascript:x", "", "so", "[text]: https://g.example/"),
    ]
    text = links + long_guide() + "\n".join(end)
    lines = text.split("\n")
    page = rendered_part(page_of(visitor, add(text), start=3, end=3))
    ways = [html.unescape(way) for way in re.findall(r'<a href="([^"]+)"[^>]*>[a-g]</a>', page)]
    places = [lines.index(written) + 1 for written in ("## Part 390", "Set *ext*")]
    places.append(len(lines) - lines[::-1].index("## Part 1"))

    assert ways[:-1] == [f"?start=3&end=3&from={place}#L{place}" for place in places]
    assert ways[-1] == "https://e.example/"
    assert 'title="Title"' in page
    assert "d e" not in page and "[f] [g][text]" in page


def test_heading_in_another_window_is_shown_when_its_link_is_followed(visitor, add):
    document = add("[a](#part-390)\n\n" + long_guide())
    way = html.unescape(re.search(r'<a href="([^"]+)">a</a>', rendered_part(page_of(visitor, document)))[1])
    query, _, place = way.partition("#")

    there = visitor.get(address(document, query)).content.decode()
    assert re.search(rf'<h\d[^>]* id="{place}"[^>]*>.*?Part 390</h', there)


def test_fence_longer_than_a_window_is_still_shown_as_code(visitor, add):
    code = "\n".join(f"*line* {n}" for n in range(1500))
    document = add(f"# Log\n\n```text\n{code}\n```\n\nThe *end*.")
    page = page_of(visitor, document, start=1300, end=1300)

    assert "*line* 1296" in page
    assert "<em>line" not in page
    assert '<span class="line cited" id="L1300">' in page
    assert "<em>end</em>" in page_of(visitor, document, start=1506)


@pytest.mark.slow
def test_hostile_document_stays_bounded(visitor, add, subtests):
    for text in (
        "[" * 200_000,
        "![" * 100_000,
        "\n".join(["[" * 9_999, ""] * 50),
        "*a **b " * 30_000,
        "> " * 50_000,
        "- " * 50_000,
        "|" + "a|" * 5_000 + "\n|" + "-|" * 5_000 + ("\n|" + "b|" * 5_000) * 20,
        "# " + "t" * 200_000,
        "[a](#b)\n\n" + ("# " + "[" * 190 + "\n") * 5_000,
        "[a](#b)\n\n" + ("# " + "[" * 990 + "\n") * 1_900,
        "[a]\n\n" + ("[a]: " + "<" * 990 + "\n") * 1_900,
        "\n".join(" " * n + "- a" for n in range(300)),
        "`" * 3 + "\n" * 100_000,
    ):
        with subtests.test(text=text[:20]):
            response = visitor.get(address(add(text)))
            assert response.status_code == 200
            assert len(response.content) < 1_000_000


def test_document_of_open_brackets_stays_bounded(visitor, add):
    response = visitor.get(address(add("[" * 200_000)))

    assert response.status_code == 200
    assert len(response.content) < 1_000_000


def test_line_drawn_above_a_heading_is_not_shown(visitor, add):
    shown = rendered_part(page_of(visitor, add("=====\nTitle\n=====\n\nText.\n")))
    assert "=" not in re.sub("<[^>]+>", "", shown)
    assert ">Title</h2>" in shown
