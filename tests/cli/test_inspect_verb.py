"""`kebab inspect`."""

import uuid

import pytest

from ingest.jobs.request import request_document, request_embedding
from ingest.models import ItemState, JobItem
from kebab.cli.errors import Exit
from search.corpus import ensure_source
from tests.cli.running import error_of, run, run_json
from tests.support.corpus import chunk, write
from tests.support.searching import embed, sync


@pytest.fixture
def document(workspace):
    return write(workspace, "guides/a.md", "first text", chunk("second text", 1, heading="Part"), tags=("x",))


def test_a_document_is_shown_with_its_chunks_in_order(workspace, document):
    facts = run_json("inspect", "doc", document.doc_id.hex)

    assert facts["schema_version"] == "document_inspection.v1"
    assert (facts["document"]["path"], facts["document"]["tags"]) == ("guides/a.md", ["x"])
    assert facts["document"]["source"] == "docs"
    assert [each["citation"] for each in facts["chunks"]] == ["guides/a.md#L1-L9", "guides/a.md#L11-L19"]
    assert [each["breadcrumb"] for each in facts["chunks"]] == ["Guide", "Part"]
    assert facts["chunks"][0]["spans"] == [{"kind": "line", "start": 1, "end": 9}]
    assert facts["chunks"][0]["tokens"] == 2


def test_a_document_is_found_by_its_path(document):
    assert run_json("inspect", "doc", "guides/a.md")["document"]["id"] == document.doc_id.hex


def test_what_has_not_come_into_mirror_and_vectors_is_seen(workspace, document):
    facts = run_json("inspect", "doc", "guides/a.md")
    assert facts["mirror"] == {"exists": False, "seq": 0, "head_seq": 1, "chunks": 0, "of": 2}

    sync(workspace)
    embed(workspace, limit=1)
    facts = run_json("inspect", "doc", "guides/a.md")
    assert facts["mirror"] == {"exists": True, "seq": 1, "head_seq": 1, "chunks": 2, "of": 2}
    assert sorted(each["embedded"] for each in facts["chunks"]) == [False, True]

    write(
        workspace,
        "guides/a.md",
        chunk("first text", heading="Renamed"),
        chunk("second text", 1, heading="Part"),
    )
    facts = run_json("inspect", "doc", "guides/a.md")
    assert [each["mirrored"] for each in facts["chunks"]] == [False, True]
    assert (facts["mirror"]["seq"], facts["mirror"]["head_seq"]) == (1, 2)


def test_a_path_in_several_sources_asks_for_an_id(workspace, document):
    other = write(workspace, "guides/a.md", "text", source="other")
    message = error_of("inspect", "doc", "guides/a.md", code=Exit.ERROR)["message"]
    assert document.doc_id.hex in message
    assert other.doc_id.hex in message


def test_a_chunk_is_shown_with_its_text(workspace, document):
    chunk_id = run_json("inspect", "doc", "guides/a.md")["chunks"][1]["id"]
    facts = run_json("inspect", "chunk", chunk_id)
    assert (facts["chunk"]["text"], facts["chunk"]["mirrored"]) == ("second text", False)
    assert facts["document"]["path"] == "guides/a.md"
    assert "second text" in run("inspect", "chunk", chunk_id)[1]


def test_a_job_is_shown_with_its_report_and_failures(workspace):
    source = ensure_source(workspace, "uploads", kind="upload")
    job = request_document(source, {"path": "a.md", "blob": "0" * 64})
    failed = {"state": ItemState.FAILED, "outcome": "failed", "reason": "not_text", "detail": "It is noise."}
    JobItem.objects.filter(job=job).update(**failed)
    facts = run_json("inspect", "job", str(job.pk))

    assert (facts["job"]["kind"], facts["job"]["source"]) == ("ingest_document", "uploads")
    assert facts["report"]["failed_by_reason"] == {"not_text": 1}
    assert facts["failures"][0]["detail"] == "It is noise."
    assert "It is noise." in run("inspect", "job", str(job.pk))[1]


def test_a_job_that_reads_no_documents_has_no_report(workspace):
    job = request_embedding(workspace.pk)
    assert run_json("inspect", "job", str(job.pk))["report"] is None


@pytest.mark.parametrize("what", ["doc", "chunk", "job"])
@pytest.mark.parametrize("named", ["nothing.md", uuid.UUID(int=7).hex])
def test_what_is_not_there_is_exit_1(workspace, what, named):
    error = error_of("inspect", what, named, code=Exit.NOTHING)
    assert error["code"] == "not_found"
    assert named in error["message"]
