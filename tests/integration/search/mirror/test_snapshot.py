"""Documents streamed from Postgres one by one."""

import gc
import uuid

from search.corpus import delete_documents
from search.mirror.sync.snapshot import ChunkState, postgres_snapshot, read_all_documents, read_documents
from search.models import Document
from tests.support.corpus import write


def alive():
    return sum(type(each) is ChunkState for each in gc.get_objects())


def test_chunks_of_one_document_at_a_time_are_held(workspace):
    for n in range(4):
        write(workspace, f"{n:02}.md", *(f"text {n} {m}" for m in range(10)))
    gc.collect()
    before, held, read = alive(), 0, 0
    with postgres_snapshot():
        for state in read_all_documents(workspace.pk):
            held = max(held, alive() - before)
            read += len(state.chunks)
    assert read == 40
    assert held <= 31  # of the one before, the present one, and where the next begins


def test_each_document_has_its_own_chunks_in_order_or_none(workspace):
    write(workspace, "a.md", "one", "two")
    write(workspace, "b.md")
    write(workspace, "c.md", "three")
    write(workspace, "d.md")
    with postgres_snapshot():
        found = [
            (state.path, [each.text for each in state.chunks]) for state in read_all_documents(workspace.pk)
        ]
    assert found == [("a.md", ["one", "two"]), ("b.md", []), ("c.md", ["three"]), ("d.md", [])]


def test_each_document_asked_for_is_returned_once_even_when_deleted(workspace, monkeypatch):
    monkeypatch.setattr("search.mirror.sync.snapshot._BATCH", 2)
    kept, gone, other = (write(workspace, f"{name}.md", name).doc_id for name in "abc")
    delete_documents(workspace, [gone])
    never = uuid.uuid4()
    with postgres_snapshot():
        found = list(read_documents(workspace.pk, [gone, kept, never, other]))
    assert len(found) == 4
    assert {doc_id: state and state.path for doc_id, state in found} == {
        gone: None,
        kept: "a.md",
        never: None,
        other: "c.md",
    }
    assert Document.objects.count() == 2
