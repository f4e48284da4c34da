"""Text formats of libraries, byte by byte."""

from datetime import UTC, datetime

from search.libraries.find import RankedLibrary
from search.libraries.formats import libraries_text, snippets_text
from search.libraries.library import Version
from search.libraries.snippets import LibrarySnippet
from search.models import SourceState
from search.retrieval.citation import citation_from_span
from search.retrieval.query.filters import ChunkKind


def library(*tags, **fields):
    values = {
        "id": "/facebook/react",
        "title": "React",
        "description": "",
        "total_snippets": 1247,
        "trust_score": 9.2,
        "stars": None,
        "state": SourceState.INDEXED,
        "last_indexed_at": datetime(2026, 1, 1, tzinfo=UTC),
        "score": 1.0,
        "key": "react",
        **fields,
    }
    return RankedLibrary(versions=tuple(Version(tag=tag, title=None) for tag in tags), **values)


def snippet(text, **fields):
    values = {
        "title": "",
        "breadcrumb": "",
        "kind": ChunkKind.INFO,
        "language": None,
        "score": 1.0,
        "chunk_id": "0" * 32,
        "doc_id": "0" * 32,
        "citation": citation_from_span("a.md", None, {"kind": "line", "start": 1, "end": 1}),
        "is_markdown": True,
        **fields,
    }
    return LibrarySnippet(text=text, **values)


def code(text, **fields):
    return snippet(text, kind=ChunkKind.CODE, **{"is_markdown": False, **fields})


def test_libraries_are_formatted_as_text():
    router = library(
        "v18", "v17", title="Router", description="Routes\n  things.", trust_score=8.0, total_snippets=300
    )
    assert libraries_text([library(), router]) == (
        "1. React\n"
        "   Library ID: /facebook/react\n"
        "   Description: No description\n"
        "   Snippets: 1247 | Trust Score: 9.2/10\n"
        "   Available Versions: default branch\n"
        "\n"
        "2. Router\n"
        "   Library ID: /facebook/react\n"
        "   Description: Routes things.\n"
        "   Snippets: 300 | Trust Score: 8.0/10\n"
        "   Available Versions: v18, v17"
    )
    assert libraries_text([]) == "No libraries found matching your search."


def test_snippets_are_formatted_as_text():
    snippets = [
        snippet("Call it.", title="Hooks", breadcrumb="React > Hooks"),
        code("const a = 1", title="Use", breadcrumb="src/a.js > Use", language="javascript"),
        code("make"),
    ]
    assert snippets_text(["Be kind.", "Be\nbrief."], snippets) == (
        "## Library Rules\n"
        "- Be kind.\n"
        "- Be brief.\n"
        "\n"
        "---\n"
        "\n"
        "### Hooks\n"
        "*React > Hooks*\n"
        "Call it.\n"
        "\n"
        "---\n"
        "\n"
        "### Use\n"
        "*src/a.js > Use*\n"
        "```javascript\n"
        "const a = 1\n"
        "```\n"
        "\n"
        "---\n"
        "\n"
        "```\n"
        "make\n"
        "```"
    )
    assert snippets_text([], [snippet("a"), snippet("b", title="B")]) == "a\n\n---\n\n### B\nb"
    assert snippets_text(["r"], []) == "## Library Rules\n- r"
    assert snippets_text([], []) == ""

    spaced = snippet("a  b\n\n\nc", title="f(a,  b)", breadcrumb="A  > B")
    written = snippets_text(["Use  two spaces."], [spaced])
    assert written == "## Library Rules\n- Use  two spaces.\n\n---\n\n### f(a,  b)\n*A  > B*\na  b\n\n\nc"
    broken = snippet("a", title="One\n## Two", breadcrumb="A\n> B")
    assert snippets_text([], [broken]) == "### One ## Two\n*A > B*\na"


def test_fence_of_code_is_longer_than_fences_inside(subtests):
    docstring = '"""\n```\nx\n```\n"""'
    assert snippets_text([], [code(docstring, language="python")]) == f"````python\n{docstring}\n````"
    assert snippets_text([], [code("`````")]) == "``````\n`````\n``````"
    assert snippets_text([], [code("a `b` ``c``")]) == "```\na `b` ``c``\n```"

    cases = [
        "```js\na\n```", "Do:\n\n```js\na\n```\n\n~~~\nb\n~~~", "````\n```\n````", "   ```js\na\n  ```  ",
    ]  # fmt: skip
    for text in cases:
        with subtests.test(text=text):
            assert snippets_text([], [code(text, language="js", is_markdown=True)]) == text

    for text in ("```js\na", "a\n```", "a", "a\n~~~", "```a``` b"):
        with subtests.test(text=text):
            fence = "````" if "```" in text else "```"
            written = snippets_text([], [code(text, language="js", is_markdown=True)])
            assert written == f"{fence}js\n{text}\n{fence}"

    for text, closing in [("```\na", "```"), ("~~~~ x\n~~~\na", "~~~~"), ("```\na\n```\n```py", "```")]:
        with subtests.test(text=text):
            written = snippets_text([], [snippet(text), snippet("next")])
            assert written == f"{text}\n{closing}\n\n---\n\nnext"
