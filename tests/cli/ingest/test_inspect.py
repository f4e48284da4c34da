import uuid

import pytest

from ingest.jobs.queue.request import request_document, request_embedding
from ingest.models import ItemState, JobItem
from kebab.exit_codes import Exit
from search.corpus import ensure_source
from tests.cli.commands import error_of, run, run_json
from tests.support.corpus import chunk, write
from tests.support.search import embed, sync


@pytest.fixture
def document(workspace):
    return write(
        workspace,
        "guides/a.md",
        "first text",
        chunk("second text", 1, heading="Part"),
        tags=("x",),
        metadata={"author": "Ada"},
    )


def test_document_is_shown_with_its_chunks_in_order(document):
    facts = run_json("inspect", "doc", document.doc_id.hex)
    first, second = facts["chunks"]

    assert facts["schema_version"] == "document_inspection.v1"
    assert (facts["document"]["path"], facts["document"]["tags"]) == ("guides/a.md", ["x"])
    assert facts["document"]["source"] == "docs"
    assert (facts["document"]["author"], facts["document"]["date"]) == (
        "Ada",
        facts["document"]["indexed_at"],
    )
    assert (first["citation"], second["citation"]) == ("guides/a.md#L1-L9", "guides/a.md#L11-L19")
    assert (first["breadcrumb"], second["breadcrumb"]) == ("Guide", "Part")
    assert first["spans"] == [{"kind": "line", "start": 1, "end": 9}]
    assert first["tokens"] == 2
    assert run_json("inspect", "doc", "guides/a.md")["document"]["id"] == document.doc_id.hex

    facts = run_json("inspect", "chunk", second["id"])
    assert (facts["chunk"]["text"], facts["chunk"]["mirrored"]) == ("second text", False)
    assert facts["document"]["path"] == "guides/a.md"
    assert "second text" in run("inspect", "chunk", second["id"])[1]


def test_chunks_missing_from_mirror_and_vectors_are_shown(workspace, document):
    facts = run_json("inspect", "doc", "guides/a.md")
    assert facts["mirror"] == {"exists": False, "seq": 0, "head_seq": 1, "chunks": 0, "of": 2}

    sync(workspace)
    embed(workspace, limit=1)
    facts = run_json("inspect", "doc", "guides/a.md")
    assert facts["mirror"] == {"exists": True, "seq": 1, "head_seq": 1, "chunks": 2, "of": 2}
    assert sorted(each["embedded"] for each in facts["chunks"]) == [False, True]

    renamed = chunk("first text", heading="Renamed")
    write(workspace, "guides/a.md", renamed, chunk("second text", 1, heading="Part"))
    facts = run_json("inspect", "doc", "guides/a.md")
    assert [each["mirrored"] for each in facts["chunks"]] == [False, True]
    assert (facts["mirror"]["seq"], facts["mirror"]["head_seq"]) == (1, 2)


def test_path_in_several_sources_asks_for_an_id(workspace, document):
    other = write(workspace, "guides/a.md", "text", source="other")
    message = error_of("inspect", "doc", "guides/a.md", code=Exit.ERROR)["message"]
    assert document.doc_id.hex in message
    assert other.doc_id.hex in message


def test_job_is_shown_with_its_report_and_failures(workspace):
    source = ensure_source(workspace, "uploads", kind="upload")
    job = request_document(source, {"path": "a.md", "blob": "0" * 64})
    failed = {"state": ItemState.FAILED, "outcome": "failed", "reason": "not_text", "detail": "Noise."}
    JobItem.objects.filter(job=job).update(**failed)
    facts = run_json("inspect", "job", str(job.pk))

    assert (facts["job"]["kind"], facts["job"]["source"]) == ("ingest_document", "uploads")
    assert facts["report"]["failed_by_reason"] == {"not_text": 1}
    assert facts["failures"][0]["detail"] == "Noise."
    assert "Noise." in run("inspect", "job", str(job.pk))[1]
    embedding = request_embedding(workspace.pk)
    assert run_json("inspect", "job", str(embedding.pk))["report"] is None


def test_inspecting_a_missing_object_exits_with_1(workspace, subtests):
    for what in ("doc", "chunk", "job"):
        for named in ("nothing.md", uuid.UUID(int=7).hex):
            with subtests.test(what=what, named=named):
                error = error_of("inspect", what, named, code=Exit.NOTHING)
                assert (error["code"], named in error["message"]) == ("not_found", True)
