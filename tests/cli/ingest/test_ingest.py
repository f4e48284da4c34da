"""`kebab ingest`; jobs run while the command polls."""

import json

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone

from ingest.jobs.queue.request import request_embedding
from ingest.jobs.queue.run import run_job
from ingest.models import Job, JobKind, JobState
from kebab.cli.client import job_progress
from kebab.exit_codes import Exit
from kebab.identity.models import AuditEvent, Workspace
from search.models import Chunk, Document, Source
from tests.cli.commands import error_of, run, run_json
from tests.integration.ingest.connectors.authority import Authority
from tests.integration.ingest.connectors.git.git_host import git_host
from tests.integration.ingest.connectors.git.repositories import WrittenRepository
from tests.integration.ingest.connectors.web.site import html, serving
from tests.support.corpus import make_workspace
from tests.support.schemas import validate

SECRET = "s3cret-never-shown"


@pytest.fixture
def workspace(transactional_db, mirrors, blobs, settings):
    settings.KEBAB_PARSERS = 1
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
    """Run due jobs while the command sleeps; a test may append another act to run instead."""
    acts = [_work]
    monkeypatch.setattr(job_progress.time, "sleep", lambda _: acts[-1]())
    return acts


def _work():
    for job in Job.objects.all().due():
        run_job(job.workspace_id, job.pk)


def test_folder_is_ingested_and_embedded_once(workspace, folder):
    report = run_json("ingest", str(folder), "--tag", "fruit", "--trust", "primary")

    validate("ingest_report.v1", report)
    assert (report["state"], report["new"], report["chunks"]) == ("succeeded", 2, 2)
    assert (report["embedding_calls"], report["embedding_error"]) == (2, None)
    assert {(each.tags[0], each.trust_level) for each in Document.objects.all()} == {("fruit", "primary")}
    again = run_json("ingest", str(folder))
    assert (again["seen"], again["unchanged"]) == (2, 2)
    assert (again["parser_calls"], again["embedding_calls"]) == (0, 0)


def test_chunks_embedded_by_an_earlier_job_are_not_counted(workspace, folder):
    request_embedding(workspace.pk)
    Job.objects.update(items_done=5)
    assert run_json("ingest", str(folder))["embedding_calls"] == 2


def test_file_is_uploaded_or_refused_after_its_report(workspace, folder):
    report = run_json("ingest", str(folder / "apple.md"))
    assert (report["new"], Document.objects.get().source.key) == (1, "uploads")

    (folder / "noise.bin").write_bytes(bytes(range(256)))
    code, out, err = run("ingest", str(folder / "noise.bin"), "--json")
    assert code == Exit.NOTHING
    report, error = json.loads(out), json.loads(err)
    assert (report["state"], report["skipped"]) == ("succeeded", 1)
    assert error["code"] == "not_ingested"
    assert "'noise.bin'" in error["message"]
    assert next(iter(report["skipped_by_reason"])) in error["message"]


def test_missing_workspace_is_created_and_embedding_skipped_on_request(workspace, folder):
    arguments = ("ingest", str(folder), "--no-embed", "--workspace", "fresh")
    assert error_of(*arguments, code=Exit.ERROR)["code"] == "not_found"
    assert run_json(*arguments, "--create")["embedding_calls"] == 0
    run_json(*arguments, "--create")
    assert Document.objects.in_workspace(Workspace.objects.get(slug="fresh")).count() == 2
    assert AuditEvent.objects.filter(action="workspace.created").count() == 1
    assert not Job.objects.filter(kind=JobKind.EMBED).exists()


def test_people_see_bars_and_a_report(workspace, folder):
    (folder / "noise.bin").write_bytes(bytes(range(256)))
    code, out, err = run("ingest", str(folder))
    assert code == 0
    assert out.splitlines()[0].split()[:4] == ["seen", "new", "updated", "unchanged"]
    assert "noise.bin" in out
    assert "Ingesting pages" in err
    assert "Embedding" in err


def test_failed_job_is_an_error_after_its_report(workspace, folder, between_looks):
    between_looks.append(
        lambda: Job.objects.update(state=JobState.FAILED, error="Broken.", finished_at=timezone.now())
    )
    code, out, err = run("ingest", str(folder), "--json")
    assert (code, json.loads(out)["error"]) == (Exit.ERROR, "Broken.")
    assert json.loads(err)["code"] == "job_failed"


def test_interruption_cancels_the_job_and_still_reports(workspace, folder, between_looks):
    def interrupt():
        between_looks.pop()
        raise KeyboardInterrupt

    between_looks.append(interrupt)
    code, out, _ = run("ingest", str(folder))
    job = Job.objects.get()
    assert (code, job.state) == (130, JobState.CANCELLED)
    assert AuditEvent.objects.get(action="job.cancelled").subject == str(job.pk)
    assert "seen" in out


def test_interrupting_the_command_does_not_stop_the_embedding(workspace, folder, between_looks):
    def work_once():
        between_looks.append(interrupt)
        job = Job.objects.get()
        run_job(job.workspace_id, job.pk)

    def interrupt():
        raise KeyboardInterrupt

    between_looks.append(work_once)
    assert run("ingest", str(folder))[0] == 130
    assert Job.objects.get(kind=JobKind.EMBED).state == JobState.QUEUED
    assert Chunk.objects.count() == 2


def test_job_that_vanishes_with_its_workspace_is_not_found(workspace, folder, between_looks):
    between_looks.append(lambda: Job.objects.all().delete())
    assert error_of("ingest", str(folder), code=Exit.NOTHING)["code"] == "not_found"


def test_unknown_paths_are_refused(workspace):
    for path in ("/nowhere/at/all", "ftp://example.org"):
        assert error_of("ingest", path, code=Exit.ERROR)["code"] == "invalid_arguments"
    assert not Job.objects.exists()


def test_progress_of_a_waiting_job_shows_the_reason():
    places = []

    class Shown:
        def show(self, done, total, *, at):
            places.append(at)

    job = {"kind": "ingest_document", "current_path": "a.md", "items_done": 0, "items_total": 1}
    for state, error in (("running", None), ("queued", None), ("queued", "Disk full: no space.")):
        job_progress._show(Shown(), {**job, "state": state, "error": error})
    assert places == ["a.md", "waiting for its turn", "Disk full: no space."]


@pytest.fixture
def authority(tmp_path, settings, monkeypatch):
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    settings.SSL_CERT_FILE = str(made.file)
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.KEBAB_CRAWL_REQUESTS_PER_S = 10_000
    return made


@pytest.mark.slow
def test_repository_is_read_with_credentials_that_nothing_shows(
    workspace, authority, tmp_path, capsys, caplog
):
    repository = WrittenRepository(tmp_path / "served" / "docs.git")
    repository.commit({"a.md": "# Alpha\n"})
    given = tmp_path / "credentials.json"
    with git_host(
        repository.root.parent, login=f"ada:{SECRET}", context=authority.context("127.0.0.1")
    ) as host:
        url = f"{host.url}/docs.git/.git"
        asked = ("ingest", url, "--workspace", workspace.slug)
        given.write_text(json.dumps({"username": "ada", "password": SECRET + "-wrong"}))
        code, out, err = run(*asked, "--credentials", str(given), "--json")
        assert (code, "credentials" in err) == (Exit.ERROR, True)
        given.write_text(json.dumps({"username": "ada", "password": SECRET}))
        assert run_json(*asked, "--credentials", str(given))["new"] == 1
        assert run_json(*asked)["unchanged"] == 1

    shown = "".join([*capsys.readouterr(), caplog.text, out, err])
    shown += "".join(Job.objects.values_list("error", flat=True))
    assert SECRET not in shown
    assert SECRET not in json.dumps(list(Source.objects.values("config", "sealed_credentials")))


def test_site_is_read_by_the_settings_of_a_source_that_has_its_address(workspace, authority):
    with serving(context=authority.context("127.0.0.1")) as site:
        site.pages["/"] = html("Home", "/a.html", "/old.html")
        site.pages["/a.html"] = html("A")
        config = {"url": site.url(), "exclude": ["old*"]}
        Source.objects.create(workspace=workspace, key="made", kind="web", config=config)
        assert run_json("ingest", site.url(), "--workspace", workspace.slug)["new"] == 2

    assert Source.objects.get().key == "made"
    assert {row.path for row in Document.objects.all()} == {"index.html", "a.html"}
