"""`kebab bench` from a folder to figures, with the worker's part done between two looks at the job."""

import io

import pytest

from ingest.cli import following
from ingest.cli.bench.growth import measuring
from ingest.cli.bench.ingestion import ingest_folder
from ingest.cli.bench.resync import resync_figure, write_files
from ingest.jobs.run import run_job
from ingest.models import Job
from kebab.cli.console import people_console
from kebab.people.models import Workspace
from search.models import Document
from tests.cli.running import error_of, run, run_json
from tests.support.corpus import make_workspace, write
from tests.support.searching import sync

pytestmark = pytest.mark.slow

QUICK = "ingest,embed,search,http,upload,rebuild,memory"


@pytest.fixture(autouse=True)
def _stack(transactional_db, mirrors, blobs, settings, tmp_path, monkeypatch):
    """Have no stack run, and work jobs off while the command sleeps."""
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_DATA_DIR.mkdir()
    monkeypatch.setattr(following.time, "sleep", lambda _: _work())


def _work():
    for job in Job.objects.all().due():
        run_job(job.workspace_id, job.pk)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "pages"
    made.mkdir()
    for name in ("apple", "pear", "plum"):
        said = f"All about the {name}, how it is grown, harvested and kept."
        text = f"# {name.title()}\n\n## Growing the {name}\n\n{said}\n"
        (made / f"{name}.md").write_text(text)
    return made


@pytest.fixture
def quiet():
    return people_console(io.StringIO())


def test_each_budget_has_a_figure_and_the_workspace_is_gone(folder):
    report = run_json("bench", "--path", str(folder), "--queries", "3", "--parts", QUICK)
    assert report.keys() == {"schema_version", "conditions", "figures"}
    assert report["schema_version"] == "bench.v1"
    figures = {figure["name"]: figure for figure in report["figures"]}
    assert figures.keys() >= {
        "ingest to searchable",
        "embedder alone",
        "embedding job",
        "upload to searchable, embedding backlog, median",
        "lexical in-process, p50",
        "vector in-process, p95",
        "hybrid in-process, p95",
        "lexical top ten as without shortcuts",
        "hybrid over HTTP",
        "upload to searchable, median",
        "mirror rebuild, 100,000 chunks",
        "memory, whole stack",
    }
    assert all(figure["is_met"] in (True, False, None) for figure in figures.values())
    assert figures["ingest to searchable"]["at_least"] == 1_500
    assert figures["embedding job"]["at_least"] == 0.9 * figures["embedder alone"]["value"]
    assert figures["hybrid over HTTP"]["note"] == "no `kebab up` runs"
    assert (report["conditions"]["queries"], report["conditions"]["embedder"]) == (3, "hash")
    assert not Workspace.objects.exists()


def test_people_see_which_budgets_of_the_parts_asked_for_are_met(folder):
    code, out, err = run("bench", "--path", str(folder), "--queries", "2", "--parts", "search")
    assert code == 0
    assert all(each in out for each in ("hybrid in-process, p50", "at most 10", "embedder hash"))
    assert "upload to searchable" not in out
    assert "Ingesting" in err


def test_workspace_that_is_in_use_stays_as_it_is():
    workspace = make_workspace()
    write(workspace, "a.md", "apple")
    sync(workspace)
    before = Workspace.objects.get().head_seq
    report = run_json("bench", "--workspace", workspace.slug, "--parts", "search,rebuild", "--queries", "2")
    names = [figure["name"] for figure in report["figures"]]
    assert "lexical in-process, p50" in names
    assert "ingest to searchable" not in names
    assert Workspace.objects.get().head_seq == before


def test_unchanged_folder_is_synced_again_with_made_up_files_where_it_has_few(folder, quiet):
    workspace = make_workspace()
    ingest_folder(workspace, folder, "bench", quiet)
    before, documents = Job.objects.count(), Document.objects.count()
    figure = resync_figure(workspace, folder, quiet, files=6)
    assert figure.name == "unchanged re-sync, 6 files"
    assert figure.note.startswith("3 files in ")
    assert Job.objects.count() == before + 1
    assert Job.objects.first().counts["unchanged"] == 3

    assert resync_figure(workspace, folder, quiet, files=7).value > 0
    assert Document.objects.count() == documents
    assert [each.slug for each in Workspace.objects.all()] == [workspace.slug]
    write_files(folder / "made", 205)
    assert len(list((folder / "made").rglob("*.md"))) == 205


def test_each_size_of_a_growth_is_filled_and_measured(folder):
    report = run_json("bench", "--growth", "30,120", "--path", str(folder), "--embed-at-most", "10")
    growth = report["growth"]
    first, second = growth["rows"]
    assert (growth["real_documents"], growth["embed_at_most"]) == (3, 10)
    assert [row["size"] for row in growth["rows"]] == [30, 120]
    assert 30 <= first["chunks"] < 60
    assert 120 <= second["chunks"] < 180
    assert second["documents"] > first["documents"] > 3
    vectors = [row["vectors"] for row in growth["rows"]]
    assert vectors[0]["embedded"] >= 10
    assert vectors[1]["embedded"] == 0
    assert vectors[1]["made_up"] > 0
    assert second["modes"].keys() == {"lexical", "vector", "hybrid"}
    assert second["disk_mb"].keys() == {"tables", "vector_index", "mirror", "codes"}
    assert second["http"] is None
    assert not Workspace.objects.exists()


def test_many_workspaces_are_filled_measured_and_deleted(folder, tmp_path):
    report = run_json("bench", "--workspaces", "3", "--path", str(folder), "--report", str(tmp_path / "out"))
    found = report["tenants"]
    assert found["workspaces"] == 3
    assert found["chunks"] >= 3 * 50
    assert found["modes"].keys() == {"lexical", "vector", "hybrid"}
    assert {"sweep", "prune queries", "status"} <= found["upkeep_s"].keys()
    assert found["disk_mb"]["mirrors"] > 0
    assert not Workspace.objects.exists()
    assert (tmp_path / "out" / "README.md").read_text()


def test_growth_without_an_embedder_or_text_is_refused(folder, settings, tmp_path):
    settings.KEBAB_EMBEDDER = "none"
    error = error_of("bench", "--growth", "12", "--path", str(folder), code=2)
    assert "KEBAB_EMBEDDER" in error["message"]
    settings.KEBAB_EMBEDDER = "hash"
    empty = tmp_path / "empty"
    empty.mkdir()
    error = error_of("bench", "--growth", "12", "--path", str(empty), code=2)
    assert error["code"] == "no_text"


def test_index_made_for_one_size_is_made_anew_for_the_next(folder, settings, monkeypatch):
    settings.KEBAB_EXACT_SCAN_LIMIT = 5
    dropped = []
    real = measuring.drop_index_beside
    monkeypatch.setattr(measuring, "drop_index_beside", lambda space: (dropped.append(space.pk), real(space)))
    rows = run_json("bench", "--growth", "8,16", "--path", str(folder))["growth"]["rows"]
    assert len(dropped) == 1
    assert all(row["vectors"]["index_build_s"] >= 0 for row in rows)
    assert all(row["disk_mb"]["vector_index"] > 0 for row in rows)
