import pytest

from ingest.cli.judged_documents import Loader
from search.evaluation.beir import JudgedDocument
from search.models import Chunk, Document
from tests.cli.ingest.beir_folder import DOCUMENTS


@pytest.fixture
def empty(workspace, settings):
    settings.KEBAB_PARSERS = 1
    return workspace


def test_judged_documents_are_loaded_under_their_own_names_or_refused(empty):
    documents = [JudgedDocument(doc_id=row["_id"], title=row["title"], text=row["text"]) for row in DOCUMENTS]
    steps = []
    found = Loader(empty).load(documents, lambda: steps.append(1))
    ids = {doc_id.hex for doc_id in Document.objects.in_workspace(empty).values_list("doc_id", flat=True)}
    assert found.names.keys() == ids
    assert sorted(found.names.values()) == sorted(row["_id"] for row in DOCUMENTS)
    assert (found.refused, len(steps)) == ({}, 4)

    chunks = Chunk.objects.in_workspace(empty)
    untitled, minutes = chunks.filter(text__contains="pear"), chunks.filter(document__title="Minutes")
    assert [(each.breadcrumb, each.document.title) for each in untitled] == [("", "")]
    assert minutes.count() > 2
    assert {each.breadcrumb for each in minutes} == {"Minutes"}

    binary = JudgedDocument(doc_id="binary", title="", text="\x00\x01\x02" * 100)
    found = Loader(empty).load([binary], lambda: None)
    assert found.names == {}
    assert found.refused.keys() == {"binary"}
