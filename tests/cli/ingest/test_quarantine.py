import pytest

from ingest.models import Job
from kebab.cli.errors import Exit
from kebab.people.models import AuditEvent
from search.models import Source, SourceVersion
from tests.cli.commands import error_of, run, run_json
from tests.support.api import quarantine
from tests.support.corpus import make_workspace, write


@pytest.fixture
def entry(workspace):
    write(workspace, "a.md", "one")
    return quarantine(workspace, SourceVersion.objects.in_workspace(workspace).get(), "bomb.md")


def test_unreadable_files_are_listed_with_their_reason(entry):
    (listed,) = run_json("quarantine")["files"]

    assert (listed["id"], listed["path"], listed["reason"]) == (entry.pk, "bomb.md", entry.detail)
    code, out, _ = run("quarantine")
    assert (code, "bomb.md" in out) == (0, True)


def test_file_of_a_folder_is_retried_and_never_forgotten(entry, workspace):
    Source.objects.in_workspace(workspace).update(kind="folder")
    output = run_json("quarantine", "retry", str(entry.pk))
    job = Job.objects.in_workspace(workspace).get(pk=output["job"])
    event = AuditEvent.objects.get(action="quarantine.retried", workspace=workspace)

    assert (job.kind, job.payload) == ("sync_source", {"only_paths": ["bomb.md"]})
    assert (event.actor, event.detail["path"]) == (job.requested_by, "bomb.md")
    assert event.actor.startswith("operator:")
    error = error_of("quarantine", "delete", str(entry.pk), code=Exit.ERROR)
    assert error["code"] == "file_of_source"
    assert len(run_json("quarantine")["files"]) == 1


def test_upload_is_forgotten_and_not_retried_without_its_bytes(entry, workspace):
    error_of("quarantine", "retry", str(entry.pk), code=Exit.ERROR)
    assert run_json("quarantine", "delete", str(entry.pk))["path"] == "bomb.md"
    assert run_json("quarantine")["files"] == []
    assert AuditEvent.objects.filter(action="quarantine.deleted", workspace=workspace).count() == 1


def test_entry_of_another_workspace_is_not_found(entry, workspace):
    other = make_workspace()
    for act in ("retry", "delete"):
        error = error_of("quarantine", "--workspace", other.slug, act, str(entry.pk), code=Exit.NOTHING)
        assert error["code"] == "not_found"
    assert run_json("quarantine", "--workspace", other.slug)["files"] == []
