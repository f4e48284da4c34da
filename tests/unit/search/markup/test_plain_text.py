import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.markup.plain_text import plain_text, stored_plain_text
from search.retrieval.text.plain_text import SEPARATOR, read_plain_text


def plain(text, path="a.md", *, is_code=False):
    return read_plain_text(plain_text(text, path, is_code=is_code)).text.replace(SEPARATOR, "·")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Retry policy ##\nWait *twice*.", "Retry policy · Wait twice."),
        ("Set C#\n======\nfor it", "Set C# · for it"),
        ("# Use C#\n\n---\n\nnow", "Use C# · now"),
        ("**a**, __b c__, *d*, _e_, ~~f~~, ***g***", "a, b c, d, e, f, g"),
        ("re**try** is **[bold](x)** and _**both**_", "retry is bold and both"),
        ("snake_case, 2*3*4, 2**3, a * b, *args, _name", "snake_case, 2*3*4, 2**3, a * b, *args, _name"),
        ("Call `__init__` of ``a`b`` with `*a_b_*`", "Call __init__ of a`b with *a_b_*"),
        ("A [guide](a(b).md 'T'), [ref][r] of <https://a.b/_c_>", "A guide, ref of https://a.b/_c_"),
        ("A [short] [x]\n\n[r]: /u\n[Short]: <v> 'T'", "A short [x]"),
        ("[[page|wiki]] and[^1] a note\n\n[^1]: Its text", "wiki and a note · Its text"),
        ("[![CI](b.svg)](c) ![s][t] ![u](v) Fast search", "Fast search"),
        ("x < y > z", "x < y > z"),
        ("&lt;b&gt; &amp;&nbsp;co &#233; &x", "<b> & co é &x"),
        ("Put <your-name> in List<String> of <T>.", "Put <your-name> in List<String> of <T>."),
        ("> [!NOTE]\n> Quoted\n> text", "Quoted text"),
        ("Do:\n\n- [x] One\n- Two\n  * Three.\n1. Four\n2) Five", "Do: One · Two · Three. 1. Four 2) Five"),
        ("| Name | Use |\n|:---|---|\n| `a\\|b` | Retry. |\n| c |  |", "Name · Use · a|b · Retry. · c"),
        ("Name | Use\n--- | ---\na | b", "Name · Use · a · b"),
        ("cat a | grep b", "cat a | grep b"),
        ("import Tabs from '~/a';\nexport const a = 1\n\n{/* no */}Text{' '}", "Text"),
        (":::note[Mind {x}]\nThis.\n:::\n::: tip Good\nThat\n:::", "Mind · This. Good · That"),
        (':::image src="a.png":::\n!!! danger "Hot"\n    Burns', "Hot · Burns"),
        ("{% if x %}Shown{% endif %} {{< tip >}}\n## T {#t}\n{: .cls}\n[TOC]", "Shown · T"),
        ("\\*not\\* \\# it\\\nnext  \nline", "*not* # it · next line"),
        ("---\ntitle: T\n---", "title: T"),
        ("(here)=\n```{note} Mind\n*Prose* of {ref}`MyST <x>`\n```", "Mind · Prose of MyST <x>"),
    ],
)  # fmt: skip
def test_markdown_is_shown_as_readers_see_it(text, expected):
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("text", "path", "is_code", "expected"),
    [
        ("Run:\n\n```sh\na  *b*\n\n  # c\n```\nThen\n**d**", "a.md", False, "Run:\na  *b*\n\n  # c\nThen d"),
        ("- Run\n\n  ~~~\n  a\n   b\n  ~~~\n- d", "a.md", False, "Run\na\n b\nd"),
        ("*a* = b\n    c", "a.md", True, "*a* = b\n    c"),
        ("*a*\n```\n\nThen **b**\n```sh\nc\n```", "a.md", False, "*a*\nThen b\nc"),
        ("Use\n\n    *a*\n    b\n\nor", "a.md", False, "Use\n*a*\nb\nor"),
        ("    npm *i*", "a.md", False, "npm *i*"),
        ("- a\n\n    b *c*", "a.md", False, "a · b c"),
        ("Use\n\n    *a*", "a.mdx", False, "Use · a"),
        ("# a **b**\n\n* c", "a.py", True, "# a **b**\n\n* c"),
    ],
)
def test_code_keeps_its_lines_and_signs(text, path, is_code, expected):
    assert plain(text, path, is_code=is_code) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title\n=====\n\nUse *this*, **that** and ``a*b``.", "Title · Use this, that and a*b."),
        ("See :ref:`the guide <g>`, :py:func:`~a.b.run`", "See the guide, run"),
        ("By `docs\n<http://x>`_, Python_, `x`_ [1]_ |v| 3\\ rd", "By docs, Python, x v 3rd"),
        ("<http://x>`__ of `a b <c>`__", "of a b"),
        (".. _target:\n\n.. a comment\n   of lines\n\nEnd", "End"),
        (".. note:: Mind\n   :class: x\n\n   the *gap*\n\n.. image:: a.png\n   :alt: A", "Mind · the gap"),
        (".. versionadded:: 3.2\n   It is.\n\n.. [1] A note", "New in 3.2 · It is. A note"),
        ("+---+---+\n| a | b |\n+===+===+\n| c | d |\n+---+---+", "a · b · c · d"),
        ("====  ===\nName  Use\n====  ===\na b   c\n====  ===", "Name · Use · a b · c"),
        (".. list-table::\n   :widths: 1\n\n   * - Name\n     - Use\n   * - a", "Name · Use · a"),
        ('.. csv-table:: T\n\n   a,"b, c"', "T · a · b, c"),
        (":param str name: the name", "name: the name"),
    ],
)
def test_rst_is_shown_as_readers_see_it(text, expected):
    assert plain(text, "a.rst") == expected


@pytest.mark.parametrize(
    ("text", "is_code", "expected"),
    [
        ("Run::\n\n   a *b*\n     c\n\nthen ::\n\n   d\n\nSee::", False, "Run:\na *b*\n  c\nthen\nd\nSee:"),
        (".. code-block:: sh\n   :lines: 1\n\n   a_ *b*\n\nthen", True, "a_ *b*\nthen"),
        (">>> a_\n1\n\nso", False, ">>> a_\n1\nso"),
        ("std::a_ *b*\n  c", True, "std::a_ *b*\n  c"),
        ('    "a": [\n      1]\n\nthen', False, '"a": [\n  1]\nthen'),
    ],
)
def test_code_in_rst_keeps_its_lines_and_signs(text, is_code, expected):
    assert plain(text, "a.rst", is_code=is_code) == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.docx", "**A**.\n\n- b\n  - c\n\nName | Use\na |  | b", "**A**. b · c · Name · Use · a · b"),
        ("a.xlsx", "a | b", "a · b"),
        ("a.html", "Type <b> for *b*\n\nName | Use\na | b", "Type <b> for *b* · Name · Use · a · b"),
        ("a.html", "cat a | grep b", "cat a | grep b"),
        ("a.eml", "Hi,\n\n> > so it was\n> said", "Hi, so it was · said"),
        ("a.csv", 'a,"b, c"\n\nd,,e', "a · b, c · d · e"),
        ("a.csv", "1,5;x\n2;y", "1,5 · x · 2 · y"),
        ("a.tsv", "a\tb c", "a · b c"),
        ("docs/README", "# About\n*it*", "About · it"),
    ],
)
def test_other_formats_lose_the_marks_that_their_parsers_wrote(path, text, expected):
    assert plain(text, path) == expected


def test_lines_of_chinese_and_japanese_are_joined_without_a_blank():
    assert plain("数据库平\n台。\n\n**新**的\nAPI 한국\n어") == "数据库平台。新的 API 한국 어"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.md", "![A plan](a.png)\n![of it](b.png)", "A plan · of it"),
        ("a.md", "[![CI](b.svg)](c)", "CI"),
        ("a.md", "[![CI](b.svg)](\nc)\n[![PyPI](d.svg)](", "CI · PyPI"),
        ("a.rst", ".. image:: a.png\n   :alt: A plan", "A plan"),
    ],
)
def test_text_of_nothing_but_images_is_their_descriptions(path, text, expected):
    assert plain(text, path) == expected


@pytest.mark.parametrize(
    ("path", "text", "is_code", "stored"),
    [
        ("a.md", "One *word*", False, "One word"),
        ("a.md", "word", False, "word"),
        ("a.md", "---", False, " "),
        ("a.py", "a = 1", True, ""),
        ("a.md", "```\na = 1\n```", True, "a = 1"),
    ],
)
def test_plain_text_of_code_without_markup_is_not_stored_twice(path, text, is_code, stored):
    assert stored_plain_text(text, path, is_code=is_code) == stored


def test_places_of_nothing_but_links_are_listed():
    text = "- [A](a), [B](b)\n\nSee [C](c).\n- [D](d)\n- [E](e): more"
    plain = read_plain_text(plain_text(text, "a.md", is_code=False))
    assert [plain.text[low:high] for low, high in plain.links] == ["A, B", "D"]


MARKS = st.sampled_from(
    [*"abc \n`*_[]()!<>|~#&;:\\{}=-+.\"'\x01\x02\x04\x06", "```", "\n\n", "\n- ", "\n.. ", "::", "](", "    "]
)


@given(
    st.lists(MARKS, max_size=80).map("".join) | st.text(),
    st.sampled_from(["md", "mdx", "rst", "csv", "docx", "html"]),
    st.booleans(),
)
def test_any_text_has_a_plain_text_with_its_links_in_order(text, extension, is_code):
    plain = read_plain_text(plain_text(text, f"a.{extension}", is_code=is_code))
    borders = [0, *(border for span in plain.links for border in span), len(plain.text)]
    assert borders == sorted(borders)
