"""Jupyter notebooks: cells, outputs and their lines in the file."""

import json
import re

import nbformat
import pytest

from ingest.parsers.data.notebook import load_placed
from ingest.parsers.registry import parse
from tests.support.paths import FILES

COLOUR = re.compile(r"\\u001b\[[0-9;]*m")
NOTEBOOKS = sorted((FILES / "notebook").iterdir())


def notebook(*cells, **metadata) -> dict:
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells)}


def cell(kind: str, source, **more) -> dict:
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def outline_of(content, indent=1):
    return parse(json.dumps(content, indent=indent).encode(), "a.ipynb").outline


def texts(outline) -> list[str]:
    return ["\n".join(outline.lines[b.span.start - 1 : b.span.end]) for b in outline.blocks]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_every_cell_of_a_real_notebook_is_read_and_placed(path):
    outline = parse(path.read_bytes(), path.name).outline
    text = "\n".join(outline.lines)
    for each in nbformat.reads(path.read_text(), as_version=4).cells:
        assert each.source.removeprefix("# ") in text
    original = path.read_text().splitlines()
    for line, origin in zip(outline.lines, outline.origins, strict=True):
        if line:
            assert json.dumps(line)[1:-1] in COLOUR.sub("", original[origin.start - 1])


def test_cell_of_one_string_lies_on_one_line():
    outline = outline_of(notebook(cell("markdown", "# A\n\ntext"), cell("code", "x = 1\ny = 2")))
    assert texts(outline) == ["# A", "text", "x = 1\ny = 2"]
    assert [origin.start for origin in outline.origins] == [9, 9, 9, 9, 14, 14]
    assert texts(outline_of(notebook(cell("code", ["x = ", "1\n", "y"])))) == ["x = 1\ny"]


def test_code_is_in_the_language_of_the_kernel_or_of_its_magic():
    cells = [cell("code", "x"), cell("code", "%%bash\nls"), cell("code", "%%writefile a.txt\nwords")]
    outline = outline_of(notebook(*cells, kernelspec={"language": "Julia", "name": "j"}))
    assert [block.language for block in outline.blocks] == ["julia", "bash", None]


def test_outputs_are_kept_as_text_within_limits():
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": [f"line {n}\n" for n in range(100)]},
        {"output_type": "stream", "name": "stderr", "text": ["a warning\n"]},
        {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": ["<Figure size 1x1>"]}},
        {"output_type": "execute_result", "data": {"text/html": ["<b>3</b>"], "text/plain": ["three"]}},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u001b[31mE"]},
    ]
    kept = texts(outline_of(notebook(cell("code", "run()", outputs=outputs))))
    assert kept == ["run()", "\n".join(f"line {n}" for n in range(30)), "three", "E"]


def test_output_is_read_in_its_best_form(subtests):
    rows = [
        "<table>\n",
        "<tr><th></th><th>depth</th></tr>\n",
        "<tr>\n<td>ebb</td>\n<td>5</td></tr>\n",
        "</table>",
    ]
    html = {"text/html": ["<style>td {}</style>\n", *rows], "text/plain": ["  depth\n", "0 5"]}
    trace = [
        "\x1b[0;31m---\x1b[0m",
        "\x1b[1;32m<cell>\x1b[0m in run\n----> 1 run()\n\n",
        "\x1b[0;31mKeyError\x1b[0m: 'ebb'",
    ]
    for output, lines in [
        (
            {
                "output_type": "display_data",
                "data": {"text/markdown": ["## Ebb\n", "*low*"], "text/plain": ["<IPython>"]},
            },
            ["## Ebb", "*low*"],
        ),
        ({"output_type": "execute_result", "data": html}, ["| depth", "ebb | 5"]),
        ({"output_type": "pyout", "html": rows, "text": ["x"]}, ["| depth", "ebb | 5"]),
        (
            {
                "output_type": "display_data",
                "data": {
                    "text/html": ["<b>Low</b> tide"],
                    "text/plain": ["<IPython.core.display.HTML object>"],
                },
            },
            ["Low tide"],
        ),
        ({"output_type": "stream", "text": "\x1b[32mready\x1b[0m\n"}, ["ready"]),
        (
            {"output_type": "error", "ename": "KeyError", "evalue": "ebb", "traceback": trace},
            ["<cell> in run", "----> 1 run()", "KeyError: 'ebb'"],
        ),
        (
            {"output_type": "pyerr", "ename": "KeyError", "evalue": "ebb", "traceback": []},
            ["KeyError", "ebb"],
        ),
        ({"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=" * 50}}, []),
    ]:
        with subtests.test(case=output):
            outline = outline_of(notebook(cell("code", "run()", outputs=[output])))
            assert [line for line in outline.lines if line][1:] == lines


def test_citation_names_the_cell_and_its_execution(chunk_file):
    cells = [
        cell("markdown", "# Tides\n\n" + "Words of the first cell. " * 30),
        cell("code", "depth_of_the_quay = 5\n" * 40, execution_count=7),
        cell("code", "a = 1", execution_count=None),
        cell("code", "b = 2", execution_count=9),
    ]
    chunks = chunk_file(json.dumps(notebook(*cells), indent=1), "a.ipynb")
    assert list(dict.fromkeys(chunk.section_label for chunk in chunks)) == [
        "Tides (cell 1)",
        "Tides (cell 2, In [7])",
        "Tides (cell 3 to cell 4)",
    ]


def test_first_cell_may_hold_front_matter():
    cells = [cell("raw", "---\ntitle: Stated\ntags: [a]\n---"), cell("markdown", "# Other\n\nmore")]
    parsed = parse(json.dumps(notebook(*cells)).encode(), "a.ipynb")
    assert (parsed.title, parsed.tags) == ("Stated", ("a",))


def test_chunks_do_not_span_a_large_notebook_output(chunk_file):
    picture = {"output_type": "display_data", "data": {"text/html": ["<tr>\n"] * 100}}
    cells = [{"cell_type": "code", "source": ["before()"], "outputs": [picture]}, cell("code", ["after()"])]
    chunks = chunk_file(json.dumps(notebook(*cells), indent=1), "a.ipynb")
    assert [chunk.text for chunk in chunks] == ["before()", "after()"]


def test_invalid_notebook_is_read_by_the_next_parser(subtests):
    whole = NOTEBOOKS[-1].read_bytes()
    no_cells = (b"{}", b'{"cells": 1}', b'{"cells": null}')
    for content in (b"", b"{", b"[]", *no_cells, b"plain words", b"[" * 100_000, whole[:1_500]):
        with subtests.test(case=content[:20]):
            parsed = parse(content, "a.ipynb")
            assert parsed.parser == "structured"
            assert "notebook" in parsed.warnings[0]


def test_malformed_notebook_cells_are_skipped(subtests):
    for odd in [
        {"cell_type": "code"},
        {"cell_type": "code", "source": None, "outputs": None},
        {"cell_type": "code", "source": [1, None, "x"], "outputs": [1, {"data": 1}, {"text": 2}]},
        {"cell_type": 7, "source": "words"},
        {"source": "\x00\ud800"},
        "no cell",
    ]:
        with subtests.test(case=ascii(odd)):
            content = notebook(odd, cell("markdown", "after"), kernelspec="odd", language_info=3, title=9)
            assert texts(outline_of(content))[-1] == "after"


def test_placed_strings_know_their_lines():
    placed = load_placed('{"a":\n "x",\n "b": ["y",\n\n "z\\n"]}')
    assert (placed["a"], placed["b"]) == ("x", ["y", "z\n"])
    assert [placed["a"].line, *(each.line for each in placed["b"])] == [2, 3, 5]
