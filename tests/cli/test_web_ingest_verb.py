"""`kebab ingest https://…` from the address to the report, over TLS of an authority of the operator's."""

import json

import pytest
from cryptography.fernet import Fernet

from ingest.cli import following
from ingest.jobs.run import run_job
from ingest.models import Job
from kebab.cli.errors import Exit
from search.models import Document, Source
from tests.cli.running import run, run_json
from tests.integration.ingest.jobs.authority import Authority
from tests.integration.ingest.jobs.git_host import git_host
from tests.integration.ingest.jobs.repositories import WrittenRepository
from tests.integration.ingest.jobs.site import html, serving
from tests.support.corpus import make_workspace

SECRET = "s3cret-never-shown"


@pytest.fixture
def workspace(transactional_db, mirrors):
    return make_workspace()


@pytest.fixture
def authority(tmp_path, settings, monkeypatch):
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    settings.SSL_CERT_FILE = str(made.file)
    return made


@pytest.fixture(autouse=True)
def _settings(settings, tmp_path):
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.KEBAB_CRAWL_REQUESTS_PER_S = 10_000


@pytest.fixture(autouse=True)
def _worker(monkeypatch):
    """Work on what is due while the verb sleeps."""

    def work():
        for job in Job.objects.all().due():
            run_job(job.workspace_id, job.pk)

    monkeypatch.setattr(following.time, "sleep", lambda _: work())


def test_a_site_is_read_and_read_again(workspace, authority):
    with serving(context=authority.context("127.0.0.1")) as site:
        site.pages["/guide/"] = html("Guide", "a.html")
        site.pages["/guide/a.html"] = html("A")
        first = run_json("ingest", site.url("/guide/"), "--workspace", workspace.slug)
        again = run_json("ingest", site.url("/guide/"), "--workspace", workspace.slug)

    assert (first["new"], again["unchanged"], again["new"]) == (2, 2, 0)
    assert {row.path for row in Document.objects.all()} == {"guide/index.html", "guide/a.html"}


def test_a_repository_is_read_with_credentials_that_nothing_shows(
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
        assert (code, "asks for credentials" in err) == (Exit.ERROR, True)
        given.write_text(json.dumps({"username": "ada", "password": SECRET}))
        assert run_json(*asked, "--credentials", str(given))["new"] == 1
        assert run_json(*asked)["unchanged"] == 1

    shown = "".join([*capsys.readouterr(), caplog.text, out, err])
    shown += "".join(Job.objects.values_list("error", flat=True))
    assert SECRET not in shown
    assert SECRET not in json.dumps(list(Source.objects.values("config", "sealed_credentials")))


def test_a_source_that_was_made_with_more_said_is_found_by_its_address(workspace, authority):
    with serving(context=authority.context("127.0.0.1")) as site:
        site.pages["/"] = html("Home", "/a.html", "/old.html")
        site.pages["/a.html"] = html("A")
        config = {"url": site.url(), "exclude": ["old*"]}
        Source.objects.create(workspace=workspace, key="made", kind="web", config=config)
        assert run_json("ingest", site.url(), "--workspace", workspace.slug)["new"] == 2

    assert Source.objects.get().key == "made"
