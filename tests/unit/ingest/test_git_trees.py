"""What is found in a commit's listing by the paths that documents have."""

import tracemalloc
import unicodedata
from types import SimpleNamespace

import pytest

from ingest.connectors.git.tree import GitTree


def listing(names):
    lines = (f"100644 blob {nth:040x}       1\t{name}\0" for nth, name in enumerate(names))
    return "".join(lines).encode()


def read(told):
    return GitTree(SimpleNamespace(run=lambda *_: told), "commit", None)


def tree(*names):
    return read(listing(names))


@pytest.mark.parametrize(
    ("names", "path", "nth"),
    [
        (["a/b.md"], "a/b.md", 0),
        (["e\u0301/\u00e9.md"], "\u00e9/\u00e9.md", 0),
        (["\u00e9.md", "e\u0301.md"], "\u00e9.md", 1),
        (["\u212a.md"], "K.md", 0),
        (["\u212a.md", "K.md"], "K.md", 1),
    ],
)
def test_a_file_is_found_by_its_path_in_nfc_the_first_of_several(names, path, nth):
    assert tree(*names).file_at(path).object_name == f"{nth:040x}"


@pytest.mark.parametrize("path", ["b.md", "\u00e9", "a", "a.md/b", "e\u0301.md"])
def test_what_is_not_there_is_none(path):
    assert tree("a.md", "\u00e9.md", "a/b.md").file_at(path) is None


def test_a_listing_is_not_held_a_second_time_in_pieces():
    told = listing(f"{nth // 100}/{nth}.md" for nth in range(50_000))
    tracemalloc.start()
    try:
        found = read(told)
        held_bytes, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.file_at("499/49999.md") is not None
    assert most_bytes - held_bytes < len(told) / 2


def test_the_time_to_find_files_does_not_grow_with_their_folder():
    # Quadratic time would be minutes here.
    names = [unicodedata.normalize("NFD", f"\u00e9{nth}.md") for nth in range(60_000)]
    found = tree(*names)
    assert all(found.file_at(unicodedata.normalize("NFC", name)) is not None for name in names)
