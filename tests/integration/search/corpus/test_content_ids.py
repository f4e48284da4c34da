"""Content ids never change, as citations, exports and other systems refer to them."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from search.corpus.content_ids import chunk_ids, content_hash, document_id, embed_hash

CORPUS = uuid.UUID("00000000-0000-4000-8000-000000000001")
DOCUMENT = uuid.UUID("00000000-0000-4000-8000-000000000002")


def ids(*texts, doc_id=DOCUMENT, chunker="c1"):
    return list(chunk_ids(doc_id, chunker, texts))


def test_ids_are_unchanged_since_the_first_release():
    assert document_id(CORPUS, "docs", "", "guides/install.md").hex == "a3aded6bf7f74c093864b0f8a49b046d"
    assert document_id(CORPUS, "docs", "v1.0", "guides/install.md").hex == "3aee6b307fd65274ffe64acaa1241507"
    assert [id_.hex for id_ in ids("Install it.", "Run it.", "Install it.")] == [
        "406ede3ebebae7a6556f627ba36dbdf1",
        "1ef02bcb4490ec094e6d8a820585c384",
        "3f91d22da8b76e8a8576f2a8628e347a",
    ]
    assert embed_hash("Guide > Install", "Install it.").hex == "639c937b229193d85824a57ac57cdfc8"
    assert (
        content_hash(b"Install it.\n") == "e6abf81b2c2d9197dde6d067aac0c551c0d13ce87c01186efd5c3fc6468cf30a"
    )


def test_chunk_id_depends_on_document_chunker_text_and_occurrence_alone():
    before, after = ids("one", "two", "three"), ids("one", "inserted", "two", "three")
    assert [after[0], *after[2:]] == before
    first, second, third = ids("again", "again", "again")
    assert len({first, second, third}) == 3
    assert ids("again", "between", "again")[2] == second
    assert ids("again", chunker="c2") != [first] != ids("again", doc_id=CORPUS)


def test_ids_of_parts_with_equal_concatenation_differ():
    place = (CORPUS, "docs", "", "a.md")
    others = [(DOCUMENT, "docs", "", "a.md"), (CORPUS, "web", "", "a.md"), (CORPUS, "docs", "v1", "a.md")]
    assert document_id(*place) not in {document_id(*other) for other in others}
    assert document_id(*place) == document_id(*place)
    assert document_id(CORPUS, "docs", "v1", "a.md") != document_id(CORPUS, "docsv", "1", "a.md")
    assert document_id(CORPUS, "docs", "", "v1a.md") != document_id(CORPUS, "docs", "v1", "a.md")
    assert embed_hash("ab", "c") != embed_hash("a", "bc")
    assert embed_hash("", "abc") != embed_hash("abc", "")


@given(st.lists(st.text(max_size=20) | st.text(alphabet="ab", max_size=2), max_size=20), st.data())
def test_ids_of_one_document_never_collide_and_order_changes_none(texts, data):
    assert len(set(ids(*texts))) == len(texts)
    assert set(ids(*data.draw(st.permutations(texts)))) == set(ids(*texts))
