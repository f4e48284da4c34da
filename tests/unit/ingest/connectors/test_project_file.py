"""kebab.json: parsed values, and reported wrong keys."""

import json
from errno import EACCES
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.connectors.errors import ListingFailed
from ingest.connectors.project_file import MAX_FILE_BYTES, ProjectFile, parse_project_file, read_project_file


def parse(**values):
    return parse_project_file("kebab.json", json.dumps(values).encode())


def wrong_keys(found):
    return [error.key for error in found.errors]


def test_every_key_is_read():
    found = parse(
        projectTitle=" Ratelimit ",
        description="Limits rates.",
        folders=["docs", "./guides/"],
        excludeFolders=["docs/internal"],
        excludeFiles=["CHANGELOG.md", "e\u0301.md"],
        rules=["Use one region.", " "],
        previousVersions=[{"tag": "v1.2", "title": "version 1.2"}, {"tag": "v1.1"}],
    )
    assert found == ProjectFile(
        name="kebab.json",
        title="Ratelimit",
        description="Limits rates.",
        rules=("Use one region.",),
        folders=("docs", "./guides/"),
        excluded_folders=("docs/internal",),
        excluded_files=frozenset({"CHANGELOG.md", "\u00e9.md"}),
        previous_versions={"v1.2": "version 1.2", "v1.1": ""},
    )


def test_other_keys_and_empty_values_change_nothing():
    given = {"$schema": "https://example.org/s.json", "url": 1, "projectTitle": "", "description": " "}
    assert parse(**given) == parse(folders=[], excludeFiles=[]) == ProjectFile(name="kebab.json")
    assert (parse(rules=[]).rules, parse().rules) == ((), None)  # naming no rules replaces rules


def test_wrong_value_is_reported_by_its_key_and_leaves_the_defaults(subtests):
    for values, key in [
        ({"projectTitle": 5}, "projectTitle"),
        ({"projectTitle": None}, "projectTitle"),
        ({"projectTitle": "x" * 301}, "projectTitle"),
        ({"description": ["a"]}, "description"),
        ({"description": "a\x00b"}, "description"),
        ({"description": "\ud800"}, "description"),
        ({"folders": "docs"}, "folders"),
        ({"folders": {"a": 1}}, "folders"),
        ({"folders": ["docs", 1]}, "folders[1]"),
        ({"folders": ["../other"]}, "folders[0]"),
        ({"folders": ["a"] * 1_001}, "folders"),
        ({"excludeFolders": ["x" * 1_001]}, "excludeFolders[0]"),
        ({"excludeFolders": ["a", "."]}, "excludeFolders[1]"),
        ({"excludeFolders": ["a/../b"]}, "excludeFolders[0]"),
        ({"excludeFiles": ["docs/a.md"]}, "excludeFiles[0]"),
        ({"excludeFiles": None}, "excludeFiles"),
        ({"rules": [["a"]]}, "rules[0]"),
        ({"previousVersions": ["v1"]}, "previousVersions[0]"),
        ({"previousVersions": [{"tag": "v1"}, {"title": "t"}]}, "previousVersions[1].tag"),
        ({"previousVersions": [{"tag": " "}]}, "previousVersions[0].tag"),
        ({"previousVersions": [{"tag": "v1", "title": 1}]}, "previousVersions[0].title"),
    ]:
        with subtests.test(case=str(values)[:60].encode(errors="replace")):
            found = parse(**{"rules": ["kept?"], **values})
            assert wrong_keys(found) == [key]
            assert found == ProjectFile(name="kebab.json", errors=found.errors)
    assert wrong_keys(parse(folders="a", rules="b", projectTitle=1)) == ["projectTitle", "rules", "folders"]


def test_project_file_without_a_json_object_is_reported(subtests):
    endless = (b'{"a": 1' + b"0" * 5_000 + b"}", b"[" * 100_000, b" " * (MAX_FILE_BYTES + 1))
    for content in (b"", b"{", b"[]", b'"a"', b"\xff", *endless):
        with subtests.test(case=content[:8]):
            found = parse_project_file("kebab.json", content)
            assert wrong_keys(found) == [""]
            assert found.errors[0].message


KEYS = "projectTitle description folders excludeFolders excludeFiles rules previousVersions"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tag", "title"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(KEYS.split()), VALUES))
def test_any_values_are_usable_or_reported(values):
    found = parse(**values)
    assert found.errors == () or found == ProjectFile(name="kebab.json", errors=found.errors)


def test_first_of_the_three_names_is_read(tmp_path):
    assert read_project_file(tmp_path) is None
    for name in ("trueref.json", "context7.json", "kebab.json"):
        (tmp_path / name).write_text(json.dumps({"projectTitle": name}), encoding="utf-8-sig")
        assert read_project_file(tmp_path) == ProjectFile(name=name, title=name)


def test_project_file_must_be_a_regular_file(tmp_path):
    (tmp_path / "elsewhere.json").write_text('{"projectTitle": "x"}')
    (tmp_path / "kebab.json").symlink_to(tmp_path / "elsewhere.json")
    (tmp_path / "context7.json").mkdir()
    assert read_project_file(tmp_path) is None


def test_unreadable_project_file_fails_the_listing(tmp_path, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(EACCES, "Permission denied", str(path))

    (tmp_path / "kebab.json").write_text("{}")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ListingFailed, match=r"kebab\.json"):
        read_project_file(tmp_path)
