"""`kebab list libraries`, and what `kebab ingest` says of a project file."""

import io

from rich.console import Console

from ingest.cli.reporting import print_report
from ingest.jobs.report import ingest_report
from ingest.models import Job
from kebab.cli.errors import Exit
from tests.cli.running import run, run_json
from tests.integration.search.libraries.making import add_library
from tests.support.corpus import make_workspace, write


def test_libraries_are_listed_by_id_with_their_versions(workspace):
    for tag in ("", "v9", "v10"):
        write(workspace, "a.md", "one", source="react", version=tag)
    add_library(workspace, "React", total_snippets=7, trust_score=3.5)
    add_library(workspace, "Preact", state="pending", last_indexed_at=None)
    rows = run_json("list", "libraries", "--workspace", workspace.slug)["rows"]

    assert [row["id"] for row in rows] == ["/local/preact", "/local/react"]
    assert (rows[1]["source"], rows[1]["snippets"], rows[1]["trust_score"]) == ("react", 7, 3.5)
    assert (rows[1]["versions"], rows[0]["state"]) == (["v10", "v9"], "pending")
    code, out, _ = run("list", "libraries", "--workspace", workspace.slug)
    assert (code, "/local/react" in out) == (0, True)


def test_no_library_of_another_workspace_is_listed(workspace):
    add_library(workspace, "React")
    other = make_workspace()

    assert run_json("list", "libraries", "--workspace", other.slug, code=Exit.NOTHING)["rows"] == []


def printed(project_file):
    counts = dict.fromkeys(("new", "updated", "unchanged", "deleted"), 0)
    by_reason: dict[str, dict[str, int]] = {"skipped": {}, "failed": {}, "examples": {}}
    job = Job(counts={**counts, **by_reason, "project_file": project_file})
    report = {**ingest_report(job), "embedding_calls": 0}
    out = io.StringIO()
    print_report(Console(file=out, width=200), report)
    return out.getvalue()


def test_what_is_wrong_in_a_project_file_is_printed_with_its_key():
    errors = [{"key": "folders", "message": "It must be a list."}, {"key": "", "message": "It is no JSON."}]
    text = printed({"name": "kebab.json", "errors": errors})

    assert "kebab.json: folders: It must be a list." in text
    assert "kebab.json: It is no JSON." in text


def test_a_project_file_that_is_fine_is_not_mentioned():
    assert "kebab.json" not in printed({"name": "kebab.json", "errors": []})
    assert "kebab.json" not in printed(None)
