"""Folders that a project file chooses or leaves out."""

import pytest

from ingest.connectors.folder import walk_folder
from ingest.connectors.types import FoundFile
from ingest.connectors.walk_rules import WalkRules

FILES = (
    "README.md",
    "docs/a.md",
    "docs/api/b.md",
    "docs/internal/c.md",
    "packages/one/docs/d.md",
    "packages/one/src/e.md",
    "packages/two/docs/f.md",
    "src/docs/g.md",
    "src/h.md",
)


@pytest.fixture
def root(tmp_path):
    for path in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    return tmp_path


def entries(root, **rules):
    return list(walk_folder(root, WalkRules(**rules)))


def found(root, **rules):
    return [entry.path for entry in entries(root, **rules) if isinstance(entry, FoundFile)]


def skipped(root, **rules):
    return {e.path: e.reason.value for e in entries(root, **rules) if not isinstance(e, FoundFile)}


@pytest.mark.parametrize("pattern", ["docs", "./docs", "/docs/", "docs//", " docs "])
def test_a_chosen_folder_is_meant_from_the_root(root, pattern):
    assert found(root, folders=(pattern,)) == ["docs/a.md", "docs/api/b.md", "docs/internal/c.md"]


def test_what_is_not_chosen_is_skipped_for_that_reason(root):
    assert skipped(root, folders=("docs", "src/docs")) == {
        "README.md": "outside_folders",
        "packages/": "outside_folders",
        "src/h.md": "outside_folders",
    }


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (("packages/*/docs",), ["packages/one/docs/d.md", "packages/two/docs/f.md"]),
        (("docs/api", "packages/one/src"), ["docs/api/b.md", "packages/one/src/e.md"]),
        (("README.md",), ["README.md"]),
        (("**/src",), ["packages/one/src/e.md", "src/docs/g.md", "src/h.md"]),
        (("packages/**/src",), ["packages/one/src/e.md"]),
        (("d?cs/int*",), ["docs/internal/c.md"]),
        (("nowhere",), []),
        (("doc",), []),
        ((".",), sorted(FILES, key=lambda path: path.split("/"))),
        ((), sorted(FILES, key=lambda path: path.split("/"))),
    ],
)
def test_patterns_choose_folders(root, folders, expected):
    assert sorted(found(root, folders=folders)) == sorted(expected)


def test_a_bare_name_is_left_out_at_any_depth_and_a_path_from_the_root(root):
    assert found(root, excluded_folders=("docs", "packages/one/src")) == ["README.md", "src/h.md"]
    assert "src/docs/g.md" in found(root, excluded_folders=("./docs",))
    assert "src/docs/g.md" in found(root, excluded_folders=("/docs",))
    assert skipped(root, excluded_folders=("docs/",))["docs/"] == "excluded_folder"


@pytest.mark.parametrize("name", ["!a", "a b", "a!"])
def test_marks_of_ignore_files_are_letters_here(root, name):
    (root / name).mkdir()
    (root / name / "x.md").write_text("x")

    assert f"{name}/x.md" in found(root)
    assert f"{name}/x.md" not in found(root, excluded_folders=(name,))


def test_leaving_out_wins_over_choosing(root):
    rules = {"folders": ("docs", "packages"), "excluded_folders": ("internal", "packages/one")}

    assert found(root, **rules) == ["docs/a.md", "docs/api/b.md", "packages/two/docs/f.md"]


def test_files_are_left_out_by_their_base_names(root):
    assert found(root, folders=("docs",), excluded_files=frozenset({"b.md", "docs/a.md"})) == [
        "docs/a.md",
        "docs/internal/c.md",
    ]
    assert skipped(root, excluded_files=frozenset({"b.md"})) == {"docs/api/b.md": "excluded_file"}


def test_a_folder_that_is_named_is_read_though_its_name_is_skipped_by_default(root):
    for path in ("dist/docs/a.md", "dist/docs/node_modules/b.md", "node_modules/docs/c.md"):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text("x")

    assert found(root, folders=("dist/docs",)) == ["dist/docs/a.md"]
    assert "node_modules/docs/c.md" not in found(root, folders=("**/docs",))


def test_an_ignore_file_still_counts(root):
    (root / ".gitignore").write_text("docs/api/\n")

    assert found(root, folders=("docs",)) == ["docs/a.md", "docs/internal/c.md"]
