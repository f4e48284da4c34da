"""Walks of folders, and reads of the listed files."""

import os
import stat
import tracemalloc

import pytest

from ingest.connectors import folder_kind, ignore
from ingest.connectors.errors import ListingFailed
from ingest.connectors.folder_kind import FolderSource, walk_folder
from ingest.connectors.types import FoundFile, SkippedFile
from ingest.connectors.walk_rules import MAX_FILE_BYTES, SkipReason, WalkRules
from ingest.skip_messages import explanations

#: Names of files that programs leave behind.
LEFT_OVER = [
    *("~$plan.docx", ".~lock.plan.odt#", ".#notes.md", "#notes.md#", "notes.md~", "a.md.bak", ".a.swp"),
    *("Thumbs.db", ".DS_Store", "~WRL0003.tmp", "setup.iso.part"),
]


def write(root, *paths: str, text: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def found_paths(root, rules: WalkRules | None = None) -> list[str]:
    return [entry.path for entry in walk_folder(root, rules) if isinstance(entry, FoundFile)]


def skip_reasons(root, rules: WalkRules | None = None) -> dict[str, str]:
    return {e.path: e.reason.value for e in walk_folder(root, rules) if isinstance(e, SkippedFile)}


def test_files_are_listed_in_order_with_size_and_time(tmp_path):
    write(tmp_path, "b.md", "a/z.md", "a/b/c.md", "a.md")
    assert found_paths(tmp_path) == ["a/b/c.md", "a/z.md", "a.md", "b.md"]
    entry = next(iter(walk_folder(tmp_path)))
    assert (entry.size_bytes, entry.mtime_ns) == (1, (tmp_path / "a/b/c.md").stat().st_mtime_ns)


def test_default_directories_and_files_are_skipped_with_reasons(tmp_path):
    write(tmp_path, "node_modules/x/a.js", "sub/build/a.md", ".git/config", "yarn.lock", "go.sum")
    write(tmp_path, "app.min.js", "app.js.map", "x_pb2.py", "keep.js")
    write(tmp_path, *LEFT_OVER)
    write(tmp_path, "empty.md", "package/__init__.py", text="")
    assert found_paths(tmp_path) == ["keep.js"]
    assert skip_reasons(tmp_path) == dict.fromkeys(LEFT_OVER, "temporary_file") | {
        ".git/": "skipped_directory",
        "app.js.map": "minified",
        "app.min.js": "minified",
        "empty.md": "empty",
        "go.sum": "lock_file",
        "node_modules/": "skipped_directory",
        "package/__init__.py": "empty",
        "sub/build/": "skipped_directory",
        "x_pb2.py": "generated",
        "yarn.lock": "lock_file",
    }


def test_ignore_files_apply_at_every_level(tmp_path):
    write(tmp_path, ".gitignore", text="*.log\n/only-top\nout/\n!out/keep.md\n")
    write(tmp_path, "sub/.gitignore", text="!keep.log\nlocal\n")
    write(tmp_path, "a.log", "sub/keep.log", "sub/b.log", "sub/local", "local", "only-top", "sub/only-top")
    write(tmp_path, "out/keep.md")
    assert found_paths(tmp_path) == [".gitignore", "local", "sub/.gitignore", "sub/keep.log", "sub/only-top"]
    assert skip_reasons(tmp_path)["out/"] == "ignored"  # it is not entered


def test_kebabignore_overrides_gitignore_and_default_skips_except_dot_git(tmp_path):
    write(tmp_path, ".gitignore", text="docs/\n*.tmp\n")
    write(tmp_path, ".kebabignore", text="!docs/\nsecret.md\n!build/\n!yarn.lock\n!.git/\n")
    write(tmp_path, "docs/a.md", "secret.md", "a.tmp", "build/a.md", "yarn.lock", ".git/config")
    assert found_paths(tmp_path) == [".gitignore", ".kebabignore", "build/a.md", "docs/a.md", "yarn.lock"]


def test_ignore_file_must_be_a_regular_file(tmp_path):
    write(tmp_path, "rules", text="*.md\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / ".kebabignore").mkdir()
    write(tmp_path, "a.md")
    assert "a.md" in found_paths(tmp_path)


def test_build_folder_of_prose_alone_is_documentation(tmp_path):
    pages = [f"docs/build/{n}.md" for n in range(5)]
    write(tmp_path, *pages, *[f"dist/{n}.md" for n in range(5)], "dist/app.js")
    assert sorted(found_paths(tmp_path)) == pages
    assert list(skip_reasons(tmp_path)) == ["dist/"]


def test_oversized_ignore_files_fail_the_listing(tmp_path, monkeypatch):
    write(tmp_path / "one", "sub/.gitignore", text="name\n" * 60_000)
    with pytest.raises(ListingFailed, match=r"^sub/.gitignore .*262,144"):
        found_paths(tmp_path / "one")
    monkeypatch.setattr(ignore, "MAX_WALK_BYTES", 100)
    for n in range(3):
        write(tmp_path / "together", f"{n}/.gitignore", text=f"name{n}\n" * 6)
    with pytest.raises(ListingFailed, match=r"2/.gitignore .*100"):
        found_paths(tmp_path / "together")
    for depth in range(6):
        write(tmp_path / "nested", "a/" * depth + ".gitignore", text="x*\n" * 6)
    with pytest.raises(ListingFailed, match=r"a/a/a/a/a/ .*100"):
        found_paths(tmp_path / "nested")


def test_equal_ignore_files_are_compiled_and_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ignore, "MAX_WALK_BYTES", 100)
    compiled = []
    compile_rules = ignore.IgnoreRules
    monkeypatch.setattr(ignore, "IgnoreRules", lambda text: compiled.append(text) or compile_rules(text))
    for n in range(10):
        write(tmp_path, f"{n}/.gitignore", f"{n}/a.md", text="x*\n" * 20)
    assert len(found_paths(tmp_path)) == 20
    assert len(compiled) == 1


def test_size_limits_differ_for_code_and_documents(tmp_path):
    write(tmp_path, "a.py", "a.md", text="x" * 300)
    rules = WalkRules(max_code_bytes=200, max_document_bytes=400)
    assert found_paths(tmp_path, rules) == ["a.md"]
    assert skip_reasons(tmp_path, rules) == {"a.py": "too_large"}


def test_links_are_not_followed_out_of_the_root(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "root-outside"
    write(root, "real.md", "dir/a.md")
    write(outside, "secret.md")
    (root / "inside.md").symlink_to("real.md")
    (root / "out.md").symlink_to(outside / "secret.md")
    (root / "broken.md").symlink_to("nowhere")
    (root / "loop.md").symlink_to("loop.md")
    (root / "dirlink").symlink_to("dir", target_is_directory=True)
    (tmp_path / "link").symlink_to("root", target_is_directory=True)
    for start in (root, tmp_path / "link"):  # the root itself may be a link
        assert found_paths(start) == ["dir/a.md", "inside.md", "real.md"]
    assert skip_reasons(root) == {
        "broken.md": "broken_link",
        "dirlink": "directory_link",
        "loop.md": "broken_link",
        "out.md": "link_outside",
    }


def become_a_pipe(file):
    file.unlink()
    os.mkfifo(file)


def become_a_folder(file):
    file.unlink()
    file.mkdir()


def become_a_link(file):
    file.unlink()
    file.symlink_to("/etc/passwd")


def grow(file):
    with file.open("wb") as opened:
        opened.truncate(MAX_FILE_BYTES + 1)


@pytest.mark.parametrize("change", [become_a_pipe, become_a_folder, become_a_link, grow])
def test_file_that_changed_its_kind_since_the_listing_is_not_read(tmp_path, change):
    write(tmp_path, "a.md")
    source = FolderSource(tmp_path)
    assert source.read("a.md").content == b"x"
    change(tmp_path / "a.md")
    with pytest.raises(PermissionError):
        source.read("a.md")


def test_special_files_and_unusable_names_are_skipped(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    write(
        tmp_path,
        "c#.md",
        "d#/x.md",
        "new\nline.md",
        "invoice\u202efdp.md",
        "zero\u200bwidth.md",
        "a\u2028b.md",
    )
    joined = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.md"  # a Persian word, spelled as it is
    write(tmp_path, joined)
    write(tmp_path, os.fsdecode(b"bad\x81.md"), os.fsdecode(b"caf\xe9/men\xfc \xc3\xa9.md"))
    assert found_paths(tmp_path) == ["c#.md", "caf\u00e9/men\u00fc \u00e9.md", "d#/x.md", joined]
    assert FolderSource(tmp_path).read("caf\u00e9/men\u00fc \u00e9.md").content == b"x"
    assert skip_reasons(tmp_path) == {
        "a\\u2028b.md": "control_character_in_name",
        "bad\\udc81.md": "undecodable_name",
        "invoice\\u202efdp.md": "control_character_in_name",
        "new\\nline.md": "control_character_in_name",
        "pipe.md": "special_file",
        "zero\\u200bwidth.md": "control_character_in_name",
    }


def test_paths_are_nfc_and_the_second_of_two_equal_ones_is_skipped(tmp_path):
    decomposed, composed = "e\u0301.md", "\u00e9.md"
    write(tmp_path, decomposed)
    assert found_paths(tmp_path) == [composed]
    write(tmp_path, composed)
    assert found_paths(tmp_path) == [composed]
    assert skip_reasons(tmp_path) == {composed: "duplicate_path"}


def test_unreadable_directory_or_missing_root_fails_the_listing(tmp_path, monkeypatch):
    with pytest.raises(ListingFailed):
        next(walk_folder(tmp_path / "nowhere"))
    write(tmp_path, "a/x.md", "b/y.md")
    scan = os.scandir

    def scandir(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(folder_kind.os, "scandir", scandir)
    walk = walk_folder(tmp_path)
    assert next(walk).path == "a/x.md"
    with pytest.raises(ListingFailed):
        next(walk)


def test_deeply_nested_directories_are_walked(tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(400):
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        with os.fdopen(os.open("a.md", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
            file.write("x")
    finally:
        os.close(here)
    assert found_paths(tmp_path) == ["d/" * 400 + "a.md"]


def test_skip_reasons_are_stable_codes_with_explanations():
    assert all(reason.value == reason.name.lower() for reason in SkipReason)
    assert explanations(SkipReason).keys() == set(SkipReason)


def test_file_that_grew_while_it_is_opened_is_read_whole(tmp_path, monkeypatch):
    (tmp_path / "a.md").write_bytes(b"0123456789")
    ask = os.fstat

    def stat_of_old_file(descriptor):
        fields = list(ask(descriptor))
        fields[stat.ST_SIZE] = 3
        return os.stat_result(fields, {"st_mtime_ns": 1})

    monkeypatch.setattr(folder_kind.os, "fstat", stat_of_old_file)
    assert FolderSource(tmp_path).read("a.md").content == b"0123456789"


def test_small_file_is_read_without_a_large_buffer(tmp_path):
    (tmp_path / "a.md").write_bytes(b"small")
    source = FolderSource(tmp_path)
    tracemalloc.start()
    try:
        source.read("a.md")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
