"""Chunks of source files by their syntax trees: real files, real trees, the real tokenizer."""

import os
import signal
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.chunking.chunker import Chunker
from ingest.parsers.errors import SandboxUnavailable
from ingest.sandbox import child
from ingest.sandbox.digester import Digester
from ingest.sandbox.process import SandboxProcess
from tests.support.paths import FILES
from tests.unit.ingest.tiling import assert_tiled

CODE = FILES / "code"
EXPECTED = CODE / "expected_chunks.txt"
STANDARD_LIBRARY = Path(sysconfig.get_paths()["stdlib"])


def expected_chunks() -> dict[str, list[str]]:
    """The lines of the file of expectations below each file's name."""
    files = EXPECTED.read_text().split("\n\n")
    return {name: chunks for name, *chunks in (file.splitlines() for file in files)}


def shown(chunks) -> list[str]:
    """Each chunk as its lines, its breadcrumb and its label."""
    return [
        f"{chunk.spans[0]['start']}-{chunk.spans[0]['end']} {chunk.breadcrumb} | {chunk.section_label}"
        for chunk in chunks
    ]


@pytest.mark.parametrize("name", sorted(path.name for path in CODE.iterdir() if path != EXPECTED))
def test_a_file_is_cut_at_its_functions_and_members(chunk_file, exact_counter, name):
    content = (CODE / name).read_bytes()
    chunks = chunk_file(content, name)
    assert shown(chunks) == expected_chunks()[name]
    assert_tiled(content, chunks, exact_counter)


def large(name: str, indent: str = "") -> str:
    """A function of about 120 tokens."""
    body = "".join(f"{indent}    total = total + value_{n} * factor_{n}\n" for n in range(10))
    return f"{indent}def {name}(self):\n{body}"


def test_comments_and_decorators_stay_with_what_they_belong_to(chunk_file):
    content = f"{large('first')}\n# Why there is\n# a second.\n@cached\n@other(1)\n{large('second')}"
    _, second = chunk_file(content, "a.py")
    assert second.text.startswith("# Why there is\n# a second.\n@cached\n@other(1)\ndef second")
    assert second.breadcrumb == "a.py > function second"


def test_a_comment_apart_from_a_function_is_not_its_own(chunk_file):
    content = f"{large('first')}\n# Of the file.\n\n{large('second')}"
    first, second = chunk_file(content, "a.py")
    assert first.text.endswith("factor_9\n")
    assert second.spans[0]["start"] == 13


def test_a_method_is_below_its_class(chunk_file):
    content = "class A:\n" + "\n".join(large(name, "    ") for name in ("run", "stop", "wait"))
    chunks = chunk_file(content, "src/a.py")
    assert [chunk.breadcrumb for chunk in chunks] == [
        f"src/a.py > class A > method {name}" for name in ("run", "stop", "wait")
    ]
    assert chunks[0].heading_path == ("class A", "method run")
    assert [chunk.section_label for chunk in chunks] == ["run", "stop", "wait"]


def test_a_class_that_fits_in_a_chunk_is_one(chunk_file):
    content = "class A:\n    def run(self):\n        pass\n\n    def stop(self):\n        pass\n"
    (chunk,) = chunk_file(content, "a.py")
    assert (chunk.breadcrumb, chunk.section_label) == ("a.py > class A", "A")


def test_small_neighbours_share_a_chunk_and_large_ones_do_not(chunk_file):
    small = "\n".join(f"def get_{n}(self):\n    return {n}\n" for n in range(3))
    chunks = chunk_file(f"{small}\n{large('run')}\n{small.replace('get', 'put')}", "a.py")
    assert [(chunk.breadcrumb, chunk.section_label) for chunk in chunks] == [
        ("a.py > function get_0, get_1, get_2", "get_0, get_1, get_2"),
        ("a.py > function run", "run"),
        ("a.py > function put_0, put_1, put_2", "put_0, put_1, put_2"),
    ]


def test_a_long_function_is_cut_between_its_outer_statements(chunk_file):
    statements = "".join(
        f"    if value_{n} > {n}:\n" + "".join(f"        first_{m} = call(value, {m})\n" for m in range(4))
        for n in range(14)
    )
    chunks = chunk_file(f"def run(value):\n{statements}", "a.py")
    count = len(chunks)
    assert count > 2
    assert [chunk.section_label for chunk in chunks] == [f"run [part {n + 1}/{count}]" for n in range(count)]
    assert {chunk.breadcrumb for chunk in chunks} == {"a.py > function run"}
    assert all(chunk.text.startswith("    if ") for chunk in chunks[1:])
    sizes = [chunk.token_count for chunk in chunks]
    assert min(sizes) > max(sizes) / 2


def test_a_comment_inside_a_function_stays_with_its_statement(chunk_file):
    statements = "".join(f"    # Reason {n}.\n    call_{n}(first, second, third)\n" for n in range(60))
    chunks = chunk_file(f"def run():\n{statements}", "a.py")
    assert all(chunk.text.startswith("    # Reason") for chunk in chunks[1:])


def test_a_function_in_a_long_one_has_its_name_below_it(chunk_file):
    inner = f"{large('inner', '    ')}\n{large('other', '    ')}\n"
    content = f"def outer():\n    first = 1\n{inner}{large('last', '    ')}    return 1\n"
    crumbs = [chunk.breadcrumb for chunk in chunk_file(content, "a.py")]
    assert crumbs == [f"a.py > function outer > function {name}" for name in ("inner", "other", "last")]


@pytest.mark.parametrize(
    ("path", "content", "breadcrumb"),
    [
        ("a.h", "class A {\npublic:\n  void run() const;\n};\n", "a.h > class A"),
        ("a.h", "struct a {\n  int run;\n};\n", "a.h > struct a"),
        ("a.tsx", "export const A = <T,>(x: T) => <p>{x}</p>;\n", "a.tsx > function A"),
        (
            "a.js",
            "module.exports.run = function () {\n  return 1;\n};\n",
            "a.js > function module.exports.run",
        ),
        ("a.go", "func (s *Set[T]) Has(x T) bool { return s.m[x] }\n", "a.go > method Set.Has"),
        ("a.rs", "impl<T> Show for Set<T> {\n    fn show(&self) {}\n}\n", "a.rs > impl Show for Set<T>"),
        ("a.cpp", "int &A::run(int x) { return x; }\n", "a.cpp > function A::run"),
        ("a.c", "static char **\nrun(void)\n{\n\treturn 0;\n}\n", "a.c > function run"),
        ("a.kt", "fun run() {}\n", "a.kt"),
        ("script", "#!/bin/sh\nrun() { true; }\n", "script > function run"),
    ],
)
def test_units_have_the_names_that_code_calls_them_by(chunk_file, path, content, breadcrumb):
    (chunk,) = chunk_file(content, path)
    assert chunk.breadcrumb == breadcrumb


@pytest.mark.parametrize("path", ["a.py", "a.java", "a.c", "a.rs", "a.ts", "a.php"])
def test_text_that_is_not_its_language_is_cut_at_windows(chunk_file, exact_counter, path):
    content = "This is (a letter } to nobody: it ]] is no code; at == all!\n" * 60
    chunks = chunk_file(content, path)
    assert {chunk.breadcrumb for chunk in chunks} == {path}
    assert all(chunk.section_label.startswith("lines ") for chunk in chunks)
    assert_tiled(content, chunks, exact_counter)


def test_one_broken_line_does_not_cost_a_file_its_functions(chunk_file):
    content = "\n\n".join(large(f"run_{n}") for n in range(6)) + "\n\nx = = 1\n"
    labels = [chunk.section_label for chunk in chunk_file(content, "a.py")]
    assert labels[:5] == [f"run_{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("a.py", "def a():\n"),
        ("a.js", "function a(){\n"),
        ("a.c", "{\n"),
        ("a.cpp", "namespace a {\n"),
        ("a.json.js", "[\n"),
        ("a.rb", "module A\n"),
        ("a.java", "class A {\n"),
    ],
)
def test_deep_nesting_is_tiled(chunk_file, exact_counter, path, unit):
    nested = "".join(" " * n + unit for n in range(300)) if path == "a.py" else unit * 20_000
    assert_tiled(nested, chunk_file(nested, path), exact_counter)


@pytest.mark.parametrize(
    ("path", "line"),
    [("a.java", "a=>" * 66), ("a.java", "%w(" * 66), ("a.c", "a=>" * 66), ("a.rs", "%w(" * 66)],
)
def test_code_that_tree_sitter_crashes_on_is_cut_at_windows_by_the_same_process(path, line):
    with Digester() as digester:
        digester.digest(b"def run():\n    pass\n", "a.py")
        pid = digester.child_pid
        digest = digester.digest(f"{line}\n".encode() * 50, path)
        assert (digest.parser, digest.warnings, digester.child_pid) == ("code", (), pid)
        assert all(chunk.section_label.startswith("line") for chunk in digest.chunks)
        (after,) = digester.digest(b"def run():\n    pass\n", "a.py").chunks
        assert after.breadcrumb == "a.py > function run"


def test_code_that_takes_tree_sitter_minutes_is_cut_at_windows(chunk_file, exact_counter):
    content = "/* x\n" * 20_000
    chunks = chunk_file(content, "a.js")
    assert {chunk.breadcrumb for chunk in chunks} == {"a.js"}
    assert_tiled(content, chunks, exact_counter)


def test_functions_on_one_line_share_a_chunk(chunk_file):
    (chunk,) = chunk_file("function a() {} function b() {}\n", "a.js")
    assert chunk.section_label == "a, b"


def test_windows_line_ends_and_other_charsets_do_not_shift_units(chunk_file):
    content = f"# Ärger, ünd 日本\n{large('first')}\n{large('zweite')}".replace("\n", "\r\n").encode("utf-16")
    chunks = chunk_file(content, "a.py")
    assert [chunk.section_label for chunk in chunks] == ["first", "zweite"]
    assert chunks[1].text.startswith("def zweite")


def test_a_worker_loads_the_grammars_of_the_languages_that_it_sees():
    program = """
import sys
from ingest.sandbox import child
from ingest.parsers.content_type import identify
from ingest.parsers.syntax.tree import read_syntax
assert not [name for name in sys.modules if name.startswith("tree_sitter")]
read_syntax(["x = 1"], identify(b"x = 1", "a.py"))
assert "tree_sitter_python" in sys.modules and "tree_sitter_c" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=CODE.parents[2], check=False).returncode == 0


SHAPES = {
    "a.py": [
        "class A:\n",
        "    def m(self):\n",
        "        return 1\n",
        "@d\n",
        "def f(x):\n",
        "    x = [\n",
        "]\n",
    ],
    "a.ts": [
        "class A {\n",
        "  m() {\n",
        "  }\n",
        "}\n",
        "@D()\n",
        "export const f = () => {\n",
        "};\n",
        "// x\n",
    ],
    "a.cpp": [
        "namespace n {\n",
        "class A {\n",
        "};\n",
        "}\n",
        "template <class T>\n",
        "int f() {\n",
        "#if 1\n",
        "#endif\n",
    ],
    "a.rb": ["module M\n", "class A\n", "def m\n", "end\n", "x do\n", "# x\n", "=begin\n", "=end\n"],
    "a.go": ["package a\n", "func f() {\n", "}\n", "type T struct {\n", "// x\n", "var (\n", ")\n"],
    "a.sh": ["f() {\n", "}\n", "if x; then\n", "fi\n", "cat <<E\n", "E\n", "# x\n"],
}


@pytest.mark.parametrize("path", sorted(SHAPES))
def test_any_source_is_tiled(chunk_file, exact_counter, path):
    line = st.one_of(
        st.sampled_from(SHAPES[path]),
        st.just("\n"),
        st.integers(1, 60).map(lambda n: "call(value) + " * n + "1\n"),
    )

    @settings(max_examples=60, deadline=None)
    @given(lines=st.lists(line, max_size=60))
    def is_tiled(lines):
        content = "".join(lines) + "\nshort\n" * 20
        assert_tiled(content, chunk_file(content, path), exact_counter)

    is_tiled()


def test_the_standard_library_is_tiled(chunk_file, exact_counter):
    paths = sorted(STANDARD_LIBRARY.glob("*.py")) + sorted(STANDARD_LIBRARY.glob("[a-k]*/*.py"))
    assert len(paths) > 200
    for path in paths:
        content = path.read_bytes()
        assert_tiled(content, chunk_file(content, f"lib/{path.name}"), exact_counter)


FUNCTION = b"def run():\n    pass\n"


def reader_pids() -> set[int]:
    """Processes that read syntax for this one."""
    children = psutil.Process().children()
    return {child.pid for child in children if "ingest.parsers.syntax.apart" in child.cmdline()}


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM])
def test_a_reader_that_somebody_else_ends_is_asked_again(chunk_file, ended_by):
    (before,) = chunk_file(FUNCTION, "a.py")
    (pid,) = reader_pids()
    os.kill(pid, ended_by)
    assert chunk_file(FUNCTION, "a.py") == [before]
    assert before.breadcrumb == "a.py > function run"
    assert len(reader_pids()) == 1
    assert not psutil.pid_exists(pid)


def test_threads_share_one_reader_and_outlive_each_other(chunk_file):
    chunk_file(FUNCTION, "a.py")
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: chunk_file(FUNCTION, "a.py")[0].breadcrumb, range(40)))
    assert set(found) == {"a.py > function run"}
    assert chunk_file(FUNCTION, "a.py")[0].breadcrumb == "a.py > function run"
    assert len(reader_pids()) == 1


def test_a_reader_that_cannot_be_started_is_not_the_files_fault(exact_counter, monkeypatch):
    header = {"path": "a.py", "first_rung": 0, "overrides": {}}
    for pid in reader_pids():
        os.kill(pid, signal.SIGKILL)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    (reply,) = child._digest(header, FUNCTION, Chunker(exact_counter))
    assert "did not start" in reply["unavailable"]


def test_a_child_that_lacks_a_process_says_so_to_its_parent(monkeypatch):
    replies = iter([{"unavailable": "no process"}])
    with Digester() as digester:
        monkeypatch.setattr(SandboxProcess, "exchange", lambda *_: (reply for reply in replies))
        with pytest.raises(SandboxUnavailable, match="no process"):
            digester.digest(FUNCTION, "a.py")
