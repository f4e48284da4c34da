"""Folders that a project file chooses or excludes."""

import pytest

from ingest.connectors.folder_kind import walk_folder
from ingest.connectors.types import FoundFile
from ingest.connectors.walk_rules import WalkRules

_FILES = """README.md docs/a.md docs/api/b.md docs/internal/c.md packages/one/docs/d.md
    packages/one/src/e.md packages/two/docs/f.md src/docs/g.md src/h.md"""
FILES = _FILES.split()


@pytest.fixture
def root(tmp_path):
    for path in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    return tmp_path


def found_paths(root, **rules):
    return [entry.path for entry in walk_folder(root, WalkRules(**rules)) if isinstance(entry, FoundFile)]


def skip_reasons(root, **rules):
    entries = walk_folder(root, WalkRules(**rules))
    return {entry.path: entry.reason.value for entry in entries if not isinstance(entry, FoundFile)}


def test_patterns_choose_folders_from_the_root(root, subtests):
    docs = ["docs/a.md", "docs/api/b.md", "docs/internal/c.md"]
    for folders, expected in [
        *(((pattern,), docs) for pattern in ("docs", "./docs", "/docs/", "docs//", " docs ")),
        (("packages/*/docs",), ["packages/one/docs/d.md", "packages/two/docs/f.md"]),
        (("docs/api", "packages/one/src"), ["docs/api/b.md", "packages/one/src/e.md"]),
        (("README.md",), ["README.md"]),
        (("**/src",), ["packages/one/src/e.md", "src/docs/g.md", "src/h.md"]),
        (("packages/**/src",), ["packages/one/src/e.md"]),
        (("d?cs/int*",), ["docs/internal/c.md"]),
        (("nowhere",), []),
        (("doc",), []),
        ((".",), FILES),
        ((), FILES),
    ]:
        with subtests.test(case=folders):
            assert sorted(found_paths(root, folders=folders)) == sorted(expected)
    assert skip_reasons(root, folders=("docs", "src/docs")) == {
        "README.md": "outside_folders",
        "packages/": "outside_folders",
        "src/h.md": "outside_folders",
    }


def test_bare_name_is_excluded_at_any_depth_and_a_path_from_the_root(root):
    assert found_paths(root, excluded_folders=("docs", "packages/one/src")) == ["README.md", "src/h.md"]
    for pattern in ("./docs", "/docs"):
        assert "src/docs/g.md" in found_paths(root, excluded_folders=(pattern,))
    assert skip_reasons(root, excluded_folders=("docs/",))["docs/"] == "excluded_folder"


def test_marks_of_ignore_files_are_literal_in_folder_names(root):
    for name in ("!a", "a b", "a!"):
        (root / name).mkdir()
        (root / name / "x.md").write_text("x")
        assert f"{name}/x.md" in found_paths(root)
        assert f"{name}/x.md" not in found_paths(root, excluded_folders=(name,))


def test_exclusions_and_ignore_files_apply_in_chosen_folders(root):
    rules = {"folders": ("docs", "packages"), "excluded_folders": ("internal", "packages/one")}
    assert found_paths(root, **rules) == ["docs/a.md", "docs/api/b.md", "packages/two/docs/f.md"]
    excluded = frozenset({"b.md", "docs/a.md"})  # files by their base names
    assert found_paths(root, folders=("docs",), excluded_files=excluded) == [
        "docs/a.md",
        "docs/internal/c.md",
    ]
    assert skip_reasons(root, excluded_files=frozenset({"b.md"})) == {"docs/api/b.md": "excluded_file"}
    (root / ".gitignore").write_text("docs/api/\n")
    assert found_paths(root, folders=("docs",)) == ["docs/a.md", "docs/internal/c.md"]


def test_named_folder_is_read_though_its_name_is_skipped_by_default(root):
    for path in ("dist/docs/a.md", "dist/docs/node_modules/b.md", "node_modules/docs/c.md"):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text("x")
    assert found_paths(root, folders=("dist/docs",)) == ["dist/docs/a.md"]
    assert "node_modules/docs/c.md" not in found_paths(root, folders=("**/docs",))
