"""Chunks of source files by their syntax trees: real files, real trees, the real tokenizer."""

import os
import signal
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kebab.sandbox.program import SandboxUnavailable
from tests.support.paths import FILES
from tests.unit.ingest.chunking.tiling import assert_tiled

CODE = FILES / "code"
EXPECTED = CODE / "expected_chunks.txt"
STANDARD_LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FUNCTION = b"def run():\n    pass\n"


def summaries(chunks) -> list[str]:
    """Return each chunk as its lines, its breadcrumb and its label."""
    places = [(chunk.spans[0], f"{chunk.breadcrumb} | {chunk.section_label}") for chunk in chunks]
    return [f"{span['start']}-{span['end']} {words}" for span, words in places]


def labels_of(chunks) -> list[str]:
    return [chunk.section_label for chunk in chunks]


def test_real_files_are_cut_at_their_functions_and_members(chunk_file, exact_counter, subtests):
    expected = {}
    for file in EXPECTED.read_text().split("\n\n"):
        name, *expected[name] = file.splitlines()
    assert {path.name for path in CODE.iterdir()} == {*expected, EXPECTED.name}
    for name, lines in expected.items():
        with subtests.test(case=name):
            content = (CODE / name).read_bytes()
            chunks = chunk_file(content, name)
            assert summaries(chunks) == lines
            assert_tiled(content, chunks, exact_counter)


def large(name: str, indent: str = "") -> str:
    """Return a function of about 120 tokens."""
    body = "".join(f"{indent}    total = total + value_{n} * factor_{n}\n" for n in range(10))
    return f"{indent}def {name}(self):\n{body}"


def test_comments_and_decorators_stay_with_what_they_belong_to(chunk_file):
    content = f"{large('first')}\n# Why there is\n# a second.\n@cached\n@other(1)\n{large('second')}"
    _, second = chunk_file(content, "a.py")
    assert second.text.startswith("# Why there is\n# a second.\n@cached\n@other(1)\ndef second")
    assert second.breadcrumb == "a.py > function second"
    first, second = chunk_file(f"{large('first')}\n# Of the file.\n\n{large('second')}", "a.py")
    assert first.text.endswith("factor_9\n")
    assert second.spans[0]["start"] == 13
    statements = "".join(f"    # Reason {n}.\n    call_{n}(first, second, third)\n" for n in range(60))
    chunks = chunk_file(f"def run():\n{statements}", "a.py")
    assert all(chunk.text.startswith("    # Reason") for chunk in chunks[1:])


def test_methods_are_below_their_class_unless_it_fits_in_a_chunk(chunk_file):
    content = "class A:\n" + "\n".join(large(name, "    ") for name in ("run", "stop", "wait"))
    chunks = chunk_file(content, "src/a.py")
    assert chunks[0].heading_path == ("class A", "method run")
    assert labels_of(chunks) == ["run", "stop", "wait"]
    assert all(chunk.breadcrumb == f"src/a.py > class A > method {chunk.section_label}" for chunk in chunks)
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
    assert labels_of(chunk_file("function a() {} function b() {}\n", "a.js")) == ["a, b"]
    long_names = "".join(f"def get_{n}_{'x' * 40}():\n    pass\n" for n in range(4))
    assert labels_of(chunk_file(long_names, "a.py"))[0].endswith(", …")


def test_long_function_is_cut_between_its_outer_statements(chunk_file):
    body = "".join(f"        first_{m} = call(value, {m})\n" for m in range(4))
    statements = "".join(f"    if value_{n} > {n}:\n{body}" for n in range(14))
    chunks = chunk_file(f"def run(value):\n{statements}", "a.py")
    count = len(chunks)
    assert count > 2
    assert labels_of(chunks) == [f"run [part {n + 1}/{count}]" for n in range(count)]
    assert {chunk.breadcrumb for chunk in chunks} == {"a.py > function run"}
    assert all(chunk.text.startswith("    if ") for chunk in chunks[1:])
    sizes = [chunk.token_count for chunk in chunks]
    assert min(sizes) > max(sizes) / 2


def test_function_in_a_long_one_has_its_name_below_it(chunk_file):
    inner = f"{large('inner', '    ')}\n{large('other', '    ')}\n"
    content = f"def outer():\n    first = 1\n{inner}{large('last', '    ')}    return 1\n"
    crumbs = [chunk.breadcrumb for chunk in chunk_file(content, "a.py")]
    assert crumbs == [f"a.py > function outer > function {name}" for name in ("inner", "other", "last")]


def test_code_units_are_named_as_in_code(chunk_file, subtests):
    exported = "module.exports.run = function () {\n  return 1;\n};\n"
    for path, content, breadcrumb in [
        ("a.h", "class A {\npublic:\n  void run() const;\n};\n", "a.h > class A"),
        ("a.h", "struct a {\n  int run;\n};\n", "a.h > struct a"),
        ("a.tsx", "export const A = <T,>(x: T) => <p>{x}</p>;\n", "a.tsx > function A"),
        ("a.js", exported, "a.js > function module.exports.run"),
        ("a.go", "func (s *Set[T]) Has(x T) bool { return s.m[x] }\n", "a.go > method Set.Has"),
        ("a.rs", "impl<T> Show for Set<T> {\n    fn show(&self) {}\n}\n", "a.rs > impl Show for Set<T>"),
        ("a.cpp", "int &A::run(int x) { return x; }\n", "a.cpp > function A::run"),
        ("a.c", "static char **\nrun(void)\n{\n\treturn 0;\n}\n", "a.c > function run"),
        ("a.kt", "fun run() {}\n", "a.kt"),
        ("script", "#!/bin/sh\nrun() { true; }\n", "script > function run"),
    ]:
        with subtests.test(case=path):
            (chunk,) = chunk_file(content, path)
            assert chunk.breadcrumb == breadcrumb


def assert_windows(path, content, chunk_file, exact_counter):
    chunks = chunk_file(content, path)
    assert {chunk.breadcrumb for chunk in chunks} == {path}
    assert all(chunk.section_label.startswith("lines ") for chunk in chunks)
    assert_tiled(content, chunks, exact_counter)


def test_text_without_syntax_is_cut_at_windows(chunk_file, exact_counter, subtests):
    prose = "This is (a letter } to nobody: it ]] is no code; at == all!\n" * 60
    for name in ("py", "java", "c", "rs", "ts", "php"):
        with subtests.test(case=name):
            assert_windows(f"a.{name}", prose, chunk_file, exact_counter)


@pytest.mark.slow
def test_code_that_takes_tree_sitter_minutes_is_cut_at_windows(chunk_file, exact_counter):
    assert_windows("a.js", "/* x\n" * 20_000, chunk_file, exact_counter)


def test_broken_lines_line_ends_and_charsets_do_not_cost_a_file_its_functions(chunk_file):
    content = "\n\n".join(large(f"run_{n}") for n in range(6)) + "\n\nx = = 1\n"
    assert labels_of(chunk_file(content, "a.py"))[:5] == [f"run_{n}" for n in range(5)]
    content = f"# Ärger, ünd 日本\n{large('first')}\n{large('zweite')}".replace("\n", "\r\n").encode("utf-16")
    chunks = chunk_file(content, "a.py")
    assert labels_of(chunks) == ["first", "zweite"]
    assert chunks[1].text.startswith("def zweite")


def test_deep_nesting_is_tiled(chunk_file, exact_counter, subtests):
    units = {"a.c": "{\n", "a.json.js": "[\n", "a.rb": "module A\n", "a.java": "class A {\n"}
    units |= {"a.js": "function a(){\n", "a.cpp": "namespace a {\n"}
    contents = {path: unit * 2_000 for path, unit in units.items()}
    contents["a.py"] = "".join(" " * n + "def a():\n" for n in range(200))
    for path, content in contents.items():
        with subtests.test(case=path):
            assert_tiled(content, chunk_file(content, path), exact_counter)


def test_code_that_crashes_the_reader_is_cut_at_windows(chunk_file):
    chunks = chunk_file(f"{'a=>' * 66}\n" * 50, "a.java")
    assert all(label.startswith("line") for label in labels_of(chunks))
    (after,) = chunk_file(FUNCTION, "a.py")
    assert after.breadcrumb == "a.py > function run"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "line"),
    [("a.java", "a=>" * 66), ("a.java", "%w(" * 66), ("a.c", "a=>" * 66), ("a.rs", "%w(" * 66)],
)
def test_code_that_crashes_tree_sitter_is_cut_at_windows_by_the_same_process(shared_digester, path, line):
    shared_digester.digest(FUNCTION, "a.py")
    pid = shared_digester.child_pid
    digest = shared_digester.digest(f"{line}\n".encode() * 50, path)
    assert (digest.parser, digest.warnings, shared_digester.child_pid) == ("code", (), pid)
    assert all(chunk.section_label.startswith("line") for chunk in digest.chunks)
    (after,) = shared_digester.digest(FUNCTION, "a.py").chunks
    assert after.breadcrumb == "a.py > function run"


SHAPES = {
    "a.py": "class A:|    def m(self):|        return 1|@d|def f(x):|    x = [|]",
    "a.ts": "class A {|  m() {|  }|}|@D()|export const f = () => {|};|// x",
    "a.cpp": "namespace n {|class A {|};|}|template <class T>|int f() {|#if 1|#endif",
    "a.rb": "module M|class A|def m|end|x do|# x|=begin|=end",
    "a.go": "package a|func f() {|}|type T struct {|// x|var (|)",
    "a.sh": "f() {|}|if x; then|fi|cat <<E|E|# x",
}


@pytest.mark.parametrize("path", sorted(SHAPES))
def test_any_source_is_tiled(chunk_file, exact_counter, path):
    shapes = st.sampled_from(["", *SHAPES[path].split("|")])
    line = shapes | st.integers(1, 60).map(lambda n: "call(value) + " * n + "1")

    @settings(max_examples=20)
    @given(lines=st.lists(line, max_size=60))
    def is_tiled(lines):
        content = "".join(f"{line}\n" for line in lines) + "\nshort\n" * 20
        assert_tiled(content, chunk_file(content, path), exact_counter)

    is_tiled()


@pytest.mark.slow
def test_standard_library_is_tiled(chunk_file, exact_counter):
    paths = sorted(STANDARD_LIBRARY.glob("*.py")) + sorted(STANDARD_LIBRARY.glob("[a-k]*/*.py"))
    assert len(paths) > 200
    for path in paths:
        content = path.read_bytes()
        assert_tiled(content, chunk_file(content, f"lib/{path.name}"), exact_counter)


def reader_pids() -> set[int]:
    """Return the pids of this process's syntax readers."""
    children = psutil.Process().children()
    return {child.pid for child in children if "ingest.parsers.syntax.code" in child.cmdline()}


def test_reader_that_is_killed_from_outside_is_started_again(chunk_file):
    (before,) = chunk_file(FUNCTION, "a.py")
    assert before.breadcrumb == "a.py > function run"
    for ended_by in (signal.SIGKILL, signal.SIGTERM):
        (pid,) = reader_pids()
        os.kill(pid, ended_by)
        assert chunk_file(FUNCTION, "a.py") == [before]
        assert len(reader_pids()) == 1
        assert not psutil.pid_exists(pid)


def test_threads_share_one_reader_and_outlive_each_other(chunk_file):
    chunk_file(FUNCTION, "a.py")
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: chunk_file(FUNCTION, "a.py")[0].breadcrumb, range(40)))
    assert set(found) == {"a.py > function run"}
    assert chunk_file(FUNCTION, "a.py")[0].breadcrumb == "a.py > function run"
    assert len(reader_pids()) == 1


def test_reader_that_cannot_be_started_is_not_the_fault_of_the_file(chunk_file, monkeypatch):
    for pid in reader_pids():
        os.kill(pid, signal.SIGKILL)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SandboxUnavailable):
        chunk_file(FUNCTION, "a.py")
