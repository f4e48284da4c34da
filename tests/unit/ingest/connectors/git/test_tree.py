"""Paths of documents in the listing of a commit."""

import tracemalloc
import unicodedata
from types import SimpleNamespace

from ingest.connectors.git.tree import GitTree


def listing(names):
    lines = (f"100644 blob {nth:040x}       1\t{name}\0" for nth, name in enumerate(names))
    return "".join(lines).encode()


def read(content):
    return GitTree(SimpleNamespace(run=lambda *_: content, while_waiting=lambda: None), "commit", None)


def test_file_is_found_by_its_path_in_nfc_the_first_of_several(subtests):
    for names, path, nth in [
        (["a/b.md"], "a/b.md", 0),
        (["e\u0301/\u00e9.md"], "\u00e9/\u00e9.md", 0),
        (["\u00e9.md", "e\u0301.md"], "\u00e9.md", 1),
        (["\u212a.md"], "K.md", 0),
        (["\u212a.md", "K.md"], "K.md", 1),
    ]:
        with subtests.test(case=names):
            assert read(listing(names)).find_file(path).object_name == f"{nth:040x}"
    tree = read(listing(["a.md", "\u00e9.md", "a/b.md"]))
    for path in ["b.md", "\u00e9", "a", "a.md/b", "e\u0301.md"]:
        with subtests.test(case=path):
            assert tree.find_file(path) is None


def test_listing_is_not_held_a_second_time_in_pieces():
    content = listing(f"{nth // 100}/{nth}.md" for nth in range(20_000))
    tracemalloc.start()
    try:
        found = read(content)
        held_bytes, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.find_file("199/19999.md") is not None
    assert most_bytes - held_bytes < len(content) / 2


def test_large_folder_of_decomposed_names_is_searched_in_linear_time():
    # Quadratic time would be minutes here.
    names = [f"\u00e9{nth}.md" for nth in range(20_000)]
    found = read(listing(unicodedata.normalize("NFD", name) for name in names))
    assert all(found.find_file(name) is not None for name in names)
