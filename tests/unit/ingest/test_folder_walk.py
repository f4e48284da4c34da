import os
import stat
import time
import tracemalloc

import pytest

from ingest.connectors import folder, folder_source, ignore_files
from ingest.connectors.errors import ListingFailed
from ingest.connectors.folder import walk_folder
from ingest.connectors.folder_source import FolderSource
from ingest.connectors.types import FoundFile, SkippedFile
from ingest.connectors.walk_rules import MAX_FILE_BYTES, SkipReason, WalkRules
from ingest.reasons import explanations


def write(root, *paths: str, text: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def found(root, rules: WalkRules | None = None) -> list[str]:
    return [entry.path for entry in walk_folder(root, rules) if isinstance(entry, FoundFile)]


def skipped(root, rules: WalkRules | None = None) -> dict[str, str]:
    return {e.path: e.reason.value for e in walk_folder(root, rules) if isinstance(e, SkippedFile)}


def test_files_come_in_order_with_size_and_time(tmp_path):
    write(tmp_path, "b.md", "a/z.md", "a/b/c.md", "a.md")
    assert found(tmp_path) == ["a/b/c.md", "a/z.md", "a.md", "b.md"]
    entry = next(iter(walk_folder(tmp_path)))
    assert (entry.size_bytes, entry.mtime_ns) == (1, (tmp_path / "a/b/c.md").stat().st_mtime_ns)


def test_default_directories_and_files_are_skipped_with_reasons(tmp_path):
    write(tmp_path, "node_modules/x/a.js", "sub/build/a.md", ".git/config", "yarn.lock", "go.sum")
    write(tmp_path, "app.min.js", "app.js.map", "x_pb2.py", "keep.js")
    assert found(tmp_path) == ["keep.js"]
    assert skipped(tmp_path) == {
        ".git/": "skipped_directory",
        "app.js.map": "minified",
        "app.min.js": "minified",
        "go.sum": "lock_file",
        "node_modules/": "skipped_directory",
        "sub/build/": "skipped_directory",
        "x_pb2.py": "generated",
        "yarn.lock": "lock_file",
    }


def test_ignore_files_work_at_every_level(tmp_path):
    write(tmp_path, ".gitignore", text="*.log\n/only-top\n")
    write(tmp_path, "sub/.gitignore", text="!keep.log\nlocal\n")
    write(tmp_path, "a.log", "sub/keep.log", "sub/b.log", "sub/local", "local", "only-top", "sub/only-top")
    assert found(tmp_path) == [".gitignore", "local", "sub/.gitignore", "sub/keep.log", "sub/only-top"]


def test_kebabignore_overrules_gitignore_beside_it(tmp_path):
    write(tmp_path, ".gitignore", text="docs/\n*.tmp\n")
    write(tmp_path, ".kebabignore", text="!docs/\nsecret.md\n")
    write(tmp_path, "docs/a.md", "secret.md", "a.tmp")
    assert found(tmp_path) == [".gitignore", ".kebabignore", "docs/a.md"]


def test_a_build_folder_full_of_prose_is_documentation_and_with_anything_else_is_not(tmp_path):
    pages = [f"docs/build/{n}.md" for n in range(5)]
    write(tmp_path, *pages, *[f"dist/{n}.md" for n in range(5)], "dist/app.js")
    entries = list(walk_folder(tmp_path))
    assert sorted(e.path for e in entries if isinstance(e, FoundFile)) == pages
    assert [e.path for e in entries if isinstance(e, SkippedFile)] == ["dist/"]


def test_ignore_file_brings_back_what_is_skipped_by_default_but_not_git(tmp_path):
    write(tmp_path, ".kebabignore", text="!build/\n!yarn.lock\n!.git/\n")
    write(tmp_path, "build/a.md", "yarn.lock", ".git/config")
    assert found(tmp_path) == [".kebabignore", "build/a.md", "yarn.lock"]


def test_an_endless_ignore_file_fails_the_listing(tmp_path):
    write(tmp_path, "sub/.gitignore", text="name\n" * 60_000)
    with pytest.raises(ListingFailed, match=r"^sub/.gitignore has more than 262,144 bytes; shorten it.$"):
        found(tmp_path)


def test_ignore_files_that_are_too_large_together_fail_the_listing(tmp_path, monkeypatch):
    monkeypatch.setattr(ignore_files, "MAX_WALK_BYTES", 100)
    for n in range(3):
        write(tmp_path, f"{n}/.gitignore", text=f"name{n}\n" * 6)
    with pytest.raises(ListingFailed, match=r"The ignore files up to 2/.gitignore have more than 100 bytes"):
        found(tmp_path)


def test_ignore_files_of_the_same_content_are_compiled_and_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ignore_files, "MAX_WALK_BYTES", 100)
    compiled = []
    compile_rules = ignore_files.IgnoreRules
    monkeypatch.setattr(
        ignore_files, "IgnoreRules", lambda text: compiled.append(text) or compile_rules(text)
    )
    for n in range(10):
        write(tmp_path, f"{n}/.gitignore", f"{n}/a.md", text="x*\n" * 20)
    assert len(found(tmp_path)) == 20
    assert len(compiled) == 1


def test_ignore_files_that_hold_in_one_folder_and_are_too_large_together_fail_the_listing(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(ignore_files, "MAX_WALK_BYTES", 100)
    for depth in range(6):
        write(tmp_path, "a/" * depth + ".gitignore", text="x*\n" * 6)
    with pytest.raises(ListingFailed, match=r"hold in a/a/a/a/a/ have more than 100 characters together"):
        found(tmp_path)


def test_ignored_directory_is_not_entered(tmp_path):
    write(tmp_path, ".gitignore", text="out/\n!out/keep.md\n")
    write(tmp_path, "out/keep.md")
    assert skipped(tmp_path) == {"out/": "ignored"}


def test_size_caps_differ_for_code_and_documents(tmp_path):
    write(tmp_path, "a.py", "a.md", text="x" * 300)
    rules = WalkRules(max_code_bytes=200, max_document_bytes=400)
    assert found(tmp_path, rules) == ["a.md"]
    assert skipped(tmp_path, rules) == {"a.py": "too_large"}


def test_links_are_not_followed_out_of_the_root(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "root-outside"
    write(root, "real.md", "dir/a.md")
    write(outside, "secret.md")
    (root / "inside.md").symlink_to("real.md")
    (root / "out.md").symlink_to(outside / "secret.md")
    (root / "broken.md").symlink_to("nowhere")
    (root / "loop.md").symlink_to("loop.md")
    (root / "dirlink").symlink_to("dir", target_is_directory=True)
    assert found(root) == ["dir/a.md", "inside.md", "real.md"]
    assert skipped(root) == {
        "broken.md": "broken_link",
        "dirlink": "directory_link",
        "loop.md": "broken_link",
        "out.md": "link_outside",
    }


def test_link_to_the_root_itself_is_walked(tmp_path):
    write(tmp_path / "real", "a.md")
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    assert found(tmp_path / "link") == ["a.md"]


def test_a_file_without_a_byte_is_skipped(tmp_path):
    write(tmp_path, "a.md", "package/__init__.py", text="")
    assert skipped(tmp_path) == {"a.md": "empty", "package/__init__.py": "empty"}


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
def test_what_a_file_became_since_it_was_listed_is_not_read(tmp_path, change):
    write(tmp_path, "a.md")
    source = FolderSource(tmp_path)
    assert source.read("a.md").content == b"x"
    change(tmp_path / "a.md")
    with pytest.raises(PermissionError, match=r"It has (?:become|grown)"):
        source.read("a.md")


def test_special_files_are_never_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    assert skipped(tmp_path) == {"pipe.md": "special_file"}


def test_names_that_no_path_may_have_are_skipped(tmp_path):
    write(tmp_path, "c#.md", "d#/x.md", "new\nline.md")
    with (tmp_path / os.fsdecode(b"bad\xff.md")).open("w") as file:
        file.write("x")
    assert found(tmp_path) == []
    assert skipped(tmp_path) == {
        "bad\\udcff.md": "undecodable_name",
        "c#.md": "hash_in_path",
        "d#/": "hash_in_path",
        "new\\nline.md": "control_character_in_name",
    }


def test_paths_are_nfc_and_the_second_of_two_equal_ones_is_skipped(tmp_path):
    decomposed, composed = "e\u0301.md", "\u00e9.md"
    write(tmp_path, decomposed)
    assert found(tmp_path) == [composed]
    write(tmp_path, composed)
    assert found(tmp_path) == [composed]
    assert skipped(tmp_path) == {composed: "duplicate_path"}


def test_directory_that_cannot_be_read_fails_the_listing(tmp_path, monkeypatch):
    write(tmp_path, "a/x.md", "b/y.md")
    scan = os.scandir

    def scandir(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(folder.os, "scandir", scandir)
    walk = walk_folder(tmp_path)
    assert next(walk).path == "a/x.md"
    with pytest.raises(ListingFailed, match="Permission denied"):
        next(walk)


def test_missing_root_fails_the_listing(tmp_path):
    with pytest.raises(ListingFailed):
        next(walk_folder(tmp_path / "nowhere"))


def test_ignore_file_that_is_a_link_or_directory_is_no_ignore_file(tmp_path):
    write(tmp_path, "rules", text="*.md\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / ".kebabignore").mkdir()
    write(tmp_path, "a.md")
    assert "a.md" in found(tmp_path)


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
    assert found(tmp_path) == ["d/" * 400 + "a.md"]


def test_ten_thousand_files_are_listed_quickly(tmp_path):
    write(tmp_path, ".gitignore", text="\n".join(f"*.skip{n}\n/dir{n}/x" for n in range(40)))
    for directory in range(100):
        (tmp_path / f"d{directory}").mkdir()
        for number in range(100):
            (tmp_path / f"d{directory}" / f"f{number}.md").write_bytes(b"x")
    started = time.process_time()
    assert len(found(tmp_path)) == 10_001
    assert time.process_time() - started < 1.5


def test_reasons_are_stable_codes():
    assert all(reason.value == reason.name.lower() for reason in SkipReason)


def test_every_reason_has_a_sentence():
    assert explanations(SkipReason).keys() == set(SkipReason)


def test_a_file_that_has_grown_since_its_size_was_asked_for_is_read_whole(tmp_path, monkeypatch):
    (tmp_path / "a.md").write_bytes(b"0123456789")
    ask = os.fstat

    def as_it_was(descriptor):
        found = list(ask(descriptor))
        found[stat.ST_SIZE] = 3
        return os.stat_result(found, {"st_mtime_ns": 1})

    monkeypatch.setattr(folder_source.os, "fstat", as_it_was)
    assert FolderSource(tmp_path).read("a.md").content == b"0123456789"


def test_a_small_file_takes_no_large_buffer(tmp_path):
    (tmp_path / "a.md").write_bytes(b"small")
    source = FolderSource(tmp_path)
    tracemalloc.start()
    try:
        source.read("a.md")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
