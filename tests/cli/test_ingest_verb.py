"""`kebab ingest`, with the worker's part done between two looks at the job."""

import json

import jsonschema
import pytest
from django.core.management import CommandError
from django.utils import timezone

from ingest.cli import following
from ingest.jobs.request import request_embedding
from ingest.jobs.run import run_job
from ingest.models import Job, JobKind, JobState
from kebab.cli.errors import Exit
from kebab.people.models import AuditEvent, Workspace
from search.models import Chunk, Document
from search.wire.schemas import inlined_schema
from tests.cli.running import error_of, run, run_json
from tests.support.corpus import make_workspace


@pytest.fixture
def workspace(transactional_db, mirrors, settings, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "blobs")},
        },
    }
    return make_workspace()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "pages"
    made.mkdir()
    for name in ("apple", "pear"):
        (made / f"{name}.md").write_text(f"# {name.title()}\n\nAll about the {name}.\n")
    return made


@pytest.fixture(autouse=True)
def between_looks(monkeypatch):
    """Work on what is due while the verb sleeps; a test may put another act in the place of it."""
    acts = [_work]
    monkeypatch.setattr(following.time, "sleep", lambda _: acts[-1]())
    return acts


def _work():
    for job in Job.objects.all().due():
        run_job(job.workspace_id, job.pk)


def test_a_folder_is_ingested_and_embedded(workspace, folder):
    report = run_json("ingest", str(folder), "--tag", "fruit", "--trust", "primary")

    jsonschema.validate(report, inlined_schema("ingest_report.v1"))
    assert (report["state"], report["new"], report["chunks"]) == ("succeeded", 2, 2)
    assert (report["embedding_calls"], report["embedding_error"]) == (2, None)
    assert {(each.tags[0], each.trust_level) for each in Document.objects.all()} == {("fruit", "primary")}


def test_a_second_run_does_nothing(workspace, folder):
    run_json("ingest", str(folder))
    again = run_json("ingest", str(folder))
    assert (again["seen"], again["unchanged"]) == (2, 2)
    assert (again["parser_calls"], again["embedding_calls"]) == (0, 0)


def test_only_what_this_run_embedded_is_counted(workspace, folder):
    run_json("ingest", str(folder))
    (folder / "plum.md").write_text("# Plum\n\nAll about the plum.\n")
    assert run_json("ingest", str(folder))["embedding_calls"] == 1


def test_what_an_open_job_embedded_before_is_not_counted(workspace, folder):
    request_embedding(workspace.pk)
    Job.objects.update(calls=5)
    assert run_json("ingest", str(folder))["embedding_calls"] == 2


def test_embedding_can_be_left_out(workspace, folder):
    report = run_json("ingest", str(folder), "--no-embed")
    assert (report["new"], report["embedding_calls"]) == (2, 0)
    assert not Job.objects.filter(kind=JobKind.EMBED).exists()


def test_a_file_is_uploaded(workspace, folder):
    report = run_json("ingest", str(folder / "apple.md"))
    assert (report["new"], Document.objects.get().source.key) == (1, "uploads")


def test_one_file_that_was_not_ingested_is_refused_after_its_report(workspace, folder):
    (folder / "noise.bin").write_bytes(bytes(range(256)))
    code, out, err = run("ingest", str(folder / "noise.bin"), "--json")
    assert code == Exit.NOTHING
    report, error = json.loads(out), json.loads(err)
    assert (report["state"], report["skipped"]) == ("succeeded", 1)
    assert error["code"] == "not_ingested"
    assert f"'noise.bin' was not ingested ({next(iter(report['skipped_by_reason']))})" in error["message"]


def test_the_workspace_is_made_on_request(transactional_db, workspace, folder):
    arguments = ("ingest", str(folder), "--workspace", "fresh")
    assert error_of(*arguments, code=Exit.NOTHING)["code"] == "not_found"
    run_json(*arguments, "--create")
    run_json(*arguments, "--create")
    assert Document.objects.in_workspace(Workspace.objects.get(slug="fresh")).count() == 2
    assert AuditEvent.objects.filter(action="workspace.created").count() == 1


def test_people_see_bars_and_a_report(workspace, folder):
    (folder / "noise.bin").write_bytes(bytes(range(256)))
    code, out, err = run("ingest", str(folder))
    assert code == 0
    assert out.splitlines()[0].split()[:4] == ["seen", "new", "updated", "unchanged"]
    assert "noise.bin" in out
    assert "Ingesting pages" in err
    assert "Embedding" in err


def test_a_failed_job_is_an_error_after_its_report(workspace, folder, between_looks):
    between_looks.append(
        lambda: Job.objects.update(state=JobState.FAILED, error="Broken.", finished_at=timezone.now())
    )
    code, out, err = run("ingest", str(folder), "--json")
    assert code == Exit.ERROR
    assert json.loads(out)["error"] == "Broken."
    assert json.loads(err)["code"] == "job_failed"


def test_an_interruption_cancels_the_job_and_says_what_stays(workspace, folder, between_looks):
    def interrupt():
        between_looks.pop()
        raise KeyboardInterrupt

    between_looks.append(interrupt)
    code, out, err = run("ingest", str(folder))
    assert code == 130
    job = Job.objects.get()
    assert job.state == JobState.CANCELLED
    assert AuditEvent.objects.get(action="job.cancelled").subject == str(job.pk)
    assert "stays searchable" in err
    assert "seen" in out


def test_an_interruption_while_embedding_leaves_the_embedding_to_go_on(workspace, folder, between_looks):
    def work_once():
        between_looks.append(interrupt)
        job = Job.objects.get()
        run_job(job.workspace_id, job.pk)

    def interrupt():
        raise KeyboardInterrupt

    between_looks.append(work_once)
    code, _, err = run("ingest", str(folder))
    assert code == 130
    assert "All is indexed" in err
    assert Job.objects.get(kind=JobKind.EMBED).state == JobState.QUEUED
    assert Chunk.objects.count() == 2


def test_a_job_that_vanishes_with_its_workspace_is_told(workspace, folder, between_looks):
    between_looks.append(lambda: Job.objects.all().delete())
    assert error_of("ingest", str(folder), code=Exit.NOTHING)["code"] == "not_found"


@pytest.mark.parametrize("path", ["/nowhere/at/all", "ftp://example.org"])
def test_an_unknown_path_is_refused(workspace, path):
    with pytest.raises(CommandError, match="folder"):
        run("ingest", path)
    assert not Job.objects.exists()
