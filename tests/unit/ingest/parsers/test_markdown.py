"""Markdown and MDX: blocks with their lines, plain headings, hostile files."""

from itertools import pairwise

import pytest

from ingest.parsers.markup.markdown import plain_text
from ingest.parsers.registry import parse
from ingest.parsers.types import Block, LineSpan


def blocks_of(text: str, path: str = "a.md") -> list[Block]:
    return list(parse(text.encode(), path).outline.blocks)


def kinds_of(text: str, path: str = "a.md") -> list[tuple[str, int, int]]:
    return [(block.kind, block.span.start, block.span.end) for block in blocks_of(text, path)]


def uncovered_lines(text: str, path: str = "a.md") -> set[str]:
    """Return the lines with text that no block covers."""
    outline = parse(text.encode(), path).outline
    covered = {n for b in outline.blocks for n in range(b.span.start, b.span.end + 1)}
    return {line for n, line in enumerate(outline.lines, 1) if line.strip() and n not in covered}


def test_markdown_blocks_have_their_kind_and_lines(subtests):
    every_kind = (
        "# Title\n\npara\nmore\n\n- one\n- two\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "```py\nx = 1\n```\n\n<div>\nhtml\n</div>\n\nSetext\n======\n"
    )
    assert kinds_of(every_kind) == [
        ("heading", 1, 1),
        ("paragraph", 3, 4),
        ("list", 6, 7),
        ("quote", 9, 9),
        ("table", 11, 13),
        ("code", 15, 17),
        ("paragraph", 19, 19),
        ("heading", 21, 22),
    ]
    for text, path, kinds in [
        ("text\n\n[a]: http://x.example\n", "a.md", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
        ("a\n\n```js\nlet x\n\n# not a heading\n", "a.md", [("paragraph", 1, 1), ("code", 3, 6)]),
        ("> # q\n\n- # l\n", "a.md", [("quote", 1, 1), ("list", 3, 3)]),
        ("a\n\n    b\n", "a.md", [("paragraph", 1, 1), ("code", 3, 3)]),
        ("a\n\n    b\n", "a.mdx", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    ]:
        with subtests.test(case=text, path=path):
            assert kinds_of(text, path) == kinds


def test_fence_names_its_language_and_list_items_are_breaks():
    blocks = blocks_of("```C++ title=x\n1\n```\n\n~~~\n2\n~~~\n\n```{.py}\n3\n```\n")
    assert [block.language for block in blocks] == ["c++", None, "py"]
    (block,) = blocks_of("- one\n  - inner\n- two\n\n  para\n- three\n")
    assert {2, 3, 6} <= set(block.breaks)


def test_heading_text_is_plain(subtests):
    for markup, plain in [
        ("Plain title", "Plain title"),
        ("`code` and **bold** _it_", "code and bold it"),
        ("[text](http://x) ![alt](y)", "text"),
        ("![alt](y) [![badge](z)](x)", "alt badge"),
        ("[Django REST framework][docs]", "Django REST framework"),
        ("Set up {#set-up}", "Set up"),
        ("Use <kbd>Ctrl</kbd> &amp; go", "Use Ctrl & go"),
        ("snake_case_name", "snake_case_name"),
        (r"a \* b", "a * b"),
        ("<img src=x>", ""),
        ("List<String> for a < b", "List<String> for a < b"),
    ]:
        with subtests.test(case=markup):
            assert plain_text(markup) == plain


def test_front_matter_gives_title_and_keeps_line_numbers():
    parsed = parse(b"---\ntitle: Stated\ntags: [x]\n---\n\n# Other\n\ntext\n", "a.md")
    assert (parsed.title, parsed.tags) == ("Stated", ("x",))
    places = [(block.kind, block.span.start) for block in parsed.outline.blocks]
    assert places == [("front_matter", 1), ("heading", 6), ("paragraph", 8)]
    broken = parse(b"---\ntitle: [x\n---\n\ntext\n", "a.md")
    assert broken.warnings
    assert broken.outline.blocks[0].span.start == 1


def placed(text: str, path: str = "a.md") -> list[tuple[str, int, int]]:
    """Return the non-blank lines as read, each with its lines in the file."""
    parsed = parse(text.encode(), path)
    assert (parsed.parser, parsed.warnings) == ("markdown", ())
    spans = [parsed.source_span(n, n) for n in range(1, len(parsed.outline.lines) + 1)]
    pairs = zip(parsed.outline.lines, spans, strict=True)
    return [(" ".join(line.split()), span.start, span.end) for line, span in pairs if line.strip()]


def lines_of(text: str, path: str = "a.md") -> list[str]:
    return [line for line, *_ in placed(text, path)]


README = """<!-- badges
<b>none</b> -->
<p align="center">
  <img src="quay.svg" alt="Plan of the quay"><br>
  <em>Berths</em> &amp; tides
</p>

<h1 align="center">Tide gauge</h1>

Read `<b>` as typed.<!-- later --> Press <kbd>Ctrl</kbd>,
or <a name="x"></a>see <host> and `Map<K, V>` if a < b
and b > c.<br/>End.

<table>
<tr><th>Gauge</th><th>Depth</th></tr>
<tr>
  <td>upper</td>
  <td>5 m</td>
</tr>
</table>

<details open>
<summary>Older gauges</summary>

- one <sup>2</sup>

  ```html
  <b>kept</b>
  ```

</details>

## <a id="end"></a>After <img alt="ebb" src=x>

```html
<h2>no heading</h2>
```
"""


def test_html_is_read_as_text_in_its_place():
    assert placed(README) == [
        ("Plan of the quay", 4, 4),
        ("Berths & tides", 5, 5),
        ("Tide gauge", 8, 8),
        ("Read `<b>` as typed. Press Ctrl,", 10, 10),
        ("or see <host> and `Map<K, V>` if a < b", 11, 11),
        ("and b > c. End.", 12, 12),
        ("Gauge | Depth", 15, 15),
        ("upper | 5 m", 17, 18),
        ("Older gauges", 23, 23),
        ("- one 2", 25, 25),
        ("```html", 27, 27),
        ("<b>kept</b>", 28, 28),
        ("```", 29, 29),
        ("## After ebb", 33, 33),
        ("```html", 35, 35),
        ("<h2>no heading</h2>", 36, 36),
        ("```", 37, 37),
    ]
    parsed = parse(README.encode(), "a.md")
    assert parsed.title == "Tide gauge"
    headings = [(b.text, b.level) for b in parsed.outline.blocks if b.kind == "heading"]
    assert headings == [("Tide gauge", 1), ("After ebb", 2)]
    assert "table" in {block.kind for block in parsed.outline.blocks}


def test_text_resembling_html_tags_is_kept(subtests):
    for text in [
        "Use List<String> or <your-name> here",
        "if x <y and z> w, or 3 <a and b> 4",
        "<https://quay.example> and <ada@quay.example>",
        "an \\<b> and `` `<i> `` and <",
        "<host>",
        "a <!-- never closed",
    ]:
        with subtests.test(case=text):
            assert lines_of(text) == [text]


def test_lines_of_a_list_without_text_are_left_out():
    text = "- one\n  <br>\n- <!-- two -->\n- three\n"
    (block,) = blocks_of(text)
    assert placed(text) == [("- one", 1, 1), ("-", 3, 3), ("- three", 4, 4)]
    assert block.breaks == (2, 3)


MDX = """import Tabs from '~/Tabs.astro'
import {
  Card,
} from '@x/card'

export const depth = "5 m";
export const limits = {
  quay: "a",

  lock: [1, 2],
}

# Berths {#berths}

<Tabs className="a b" groupId="os" name="By quay" items={["a", "b"]}>
    <Tab label="North quay" value='n'>
    Ask the <Link to={`/x/${y}`}>harbour master</Link>{' '}first.

    ```jsx
    import x from 'y'
    <Card title="kept" {...props} />
    ```
    </Tab>
</Tabs>

{/* not
   shown */}
<Card
  title="Lock times"
  description={'Six to nine'}
  icon={<Icon name="x" />}
/>
Depth is {depth} or {props.depth}, `{kept}`, \\{kept}, $x_{1}$.
<div style={{color: 'red'}} className="x">Red</div>
{items.map(item => <li key={item}>{item}</li>)}
export your data to a file < 5 MB.
"""


def test_mdx_leaves_no_markup():
    assert placed(MDX, "a.mdx") == [
        ("# Berths", 13, 13),
        ("By quay", 15, 15),
        ("North quay", 16, 16),
        ("Ask the harbour master first.", 17, 17),
        ("```jsx", 19, 19),
        ("import x from 'y'", 20, 20),
        ('<Card title="kept" {...props} />', 21, 21),
        ("```", 22, 22),
        ("Lock times Six to nine", 28, 28),
        ("Depth is 5 m or , `{kept}`, \\{kept}, $x_{1}$.", 33, 33),
        ("Red", 34, 34),
        ("export your data to a file < 5 MB.", 36, 36),
    ]
    assert parse(MDX.encode(), "a.mdx").title == "Berths"
    plain = "Export it.\n\nexport const x = 1\n\n    indented text {unclosed\n"
    assert lines_of(plain, "a.mdx") == ["Export it.", "indented text {unclosed"]


@pytest.mark.parametrize("path", ["a.md", "a.mdx"])
def test_hostile_markdown_is_read_whole(path, subtests):
    # In quadratic time the largest would take minutes.
    for text in [
        *("", "\n\n\n", "\ufeff# Title\r\n\r\ntext\rmore\n", "# \n\n##\n", ">" * 2000 + " deep\n"),
        "".join("  " * depth + "- item\n" for depth in range(100)),
        *("[" * 5000 + "\n", "# " + "*_" * 2000 + "\n", "|a|\n|-|\n" + "|x|\n" * 1000, "x" * 1_000_000),
        "".join(f"# h{n}\n" for n in range(2_000)),
        *("# {#" * 15_000, "`" * 25_000, "* " * 1000 + "x\n"),
        *("<a {" * 15_000, "<b x='" * 15_000, "<!--" * 15_000, "a <!--" * 15_000, "x <i" * 15_000),
        *("{" * 25_000, "{`" * 15_000, "{'" * 15_000, "{/*" * 15_000, "a ` `` " * 10_000, "$a" * 25_000),
        *("<A b={" * 10_000, "export const x = {\n\n" * 1_000, "<p>" * 10_000, "</p>" * 10_000 + "x"),
    ]:
        with subtests.test(case=text[:12]):
            assert uncovered_lines(text, path) == set()


def test_blocks_never_overlap_and_follow_in_order():
    spans = [b.span for b in blocks_of("a\n***\n- b\n\n\n\n      c\n***\n| x |\n|---|\nd\n===\n")]
    assert all(earlier.end < later.start for earlier, later in pairwise(spans))
    assert LineSpan(2, 2) in spans


def test_heading_underlines_are_not_heading_text():
    headings = [block.text for block in blocks_of("=====\nTitle\n=====\n\n# =====\n\n=====\n-----\n")]
    assert [text for text in headings if text] == ["Title"]
