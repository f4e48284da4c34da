"""Budgets from a folder to figures; jobs run while the command polls."""

import io

import pytest

from ingest.models import Job
from kebab.cli.output import people_console
from kebab.identity.models import Workspace
from search.models import Document
from tests.cli.commands import run, run_json
from tests.drills.bench.budgets.ingestion import ingest_folder
from tests.drills.bench.budgets.resync import resync_figure
from tests.drills.bench.command import Command
from tests.support.corpus import make_workspace, write
from tests.support.search import sync

COMMAND = Command()
QUICK = "ingest,embed,search,http,upload,rebuild,memory"


@pytest.mark.slow
def test_each_part_gives_its_figures_and_the_workspace_is_deleted(folder):
    report = run_json(COMMAND, "budgets", "--path", str(folder), "--queries", "3", "--parts", QUICK)
    figures = {figure["name"]: figure for figure in report["figures"]}
    assert report["schema_version"] == "bench.v1"
    assert figures.keys() >= {
        "ingest to searchable",
        "embedder alone",
        "embedding job",
        "upload to searchable, embedding backlog, median",
        "lexical in-process, p50",
        "vector in-process, p95",
        "hybrid in-process, p95",
        "hybrid over HTTP",
        "upload to searchable, median",
        "mirror rebuild, 100,000 chunks",
        "memory, whole stack",
    }
    assert figures["ingest to searchable"]["at_least"] == 1_500
    assert figures["embedding job"]["at_least"] == 0.9 * figures["embedder alone"]["value"]
    assert figures["lexical top ten as without shortcuts"]["value"] == 1.0
    assert figures["hybrid over HTTP"]["value"] is None
    assert (report["conditions"]["queries"], report["conditions"]["embedder"]) == (3, "hash")
    assert not Workspace.objects.exists()


def test_people_see_the_parts_asked_for_of_a_workspace_that_stays_as_it_is():
    workspace = make_workspace()
    write(workspace, "a.md", "apple")
    sync(workspace)
    before = Workspace.objects.get().head_seq
    code, out, _ = run(
        COMMAND, "budgets", "--workspace", workspace.slug, "--parts", "search,rebuild", "--queries", "2"
    )
    assert code == 0
    assert all(
        each in out for each in ("hybrid in-process, p50", "hybrid request, Python calls", "embedder hash")
    )
    assert "ingest to searchable" not in out
    assert Workspace.objects.get().head_seq == before


def test_unchanged_folder_is_synced_again_with_made_up_files_where_it_has_few(folder):
    workspace, quiet = make_workspace(), people_console(io.StringIO())
    ingest_folder(workspace, folder, "bench", quiet)
    assert resync_figure(workspace, folder, quiet, files=6).value > 0
    assert Job.objects.first().counts["unchanged"] == 3
    assert resync_figure(workspace, folder, quiet, files=7).value > 0
    assert Document.objects.count() == 3
    assert [each.slug for each in Workspace.objects.all()] == [workspace.slug]
