"""`kebab export`, `kebab import` and `kebab search --bundle`."""

import json
import os
import subprocess
import sys

import pytest

from kebab.people.models import Workspace
from tests.cli.commands import error_of, run, run_json
from tests.support.paths import ROOT


def test_export_and_import_report_the_same_counts(workspace, tmp_path):
    file = tmp_path / "out.kebab"
    written = run_json("export", str(file), "--workspace", workspace.slug)
    made = run_json("import", str(file), "--workspace", "elsewhere", "--name", "Elsewhere")

    assert written["schema_version"] == "bundle_export.v1"
    assert (written["documents"], written["chunks"]) == (made["documents"], made["chunks"]) == (13, 49)
    assert written["size_bytes"] == file.stat().st_size
    assert (made["workspace"], made["name"], made["detached_sources"]) == ("elsewhere", "Elsewhere", [])
    assert Workspace.objects.filter(pk=made["id"], slug="elsewhere").exists()


def test_refusals_have_their_codes(workspace, tmp_path):
    file = tmp_path / "out.kebab"
    run_json("export", str(file), "--workspace", workspace.slug)
    refused = [
        error_of("import", str(file), "--workspace", workspace.slug, code=1),
        error_of("export", str(file), "--workspace", workspace.slug, code=1),
        error_of("import", str(file), "--workspace", "No Slug", code=2),
        error_of("import", str(tmp_path / "none"), "--workspace", "fresh", code=1),
        error_of("export", str(tmp_path / "no" / "out"), "--workspace", workspace.slug, code=1),
    ]
    file.write_bytes(file.read_bytes()[:-1])
    refused.append(error_of("import", str(file), "--workspace", "fresh", code=2))

    assert [each["code"] for each in refused] == [
        "slug_taken",
        "bundle_exists",
        "invalid_slug",
        "bundle_unreadable",
        "bundle_unreadable",
        "bundle_damaged",
    ]
    assert "no/out" in refused[4]["message"]
    assert not Workspace.objects.filter(slug="fresh").exists()


def test_search_in_a_bundle_prints_its_hits_or_ends_with_one(file):
    result = run_json("search", "harbour lighthouse", "--bundle", str(file))
    assert result["schema_version"] == "search_response.v1"
    assert (result["degraded"], len(result["hits"])) == ([], 10)
    assert all(hit["citation"]["uri"].startswith("guides/") for hit in result["hits"])
    assert run("search", "zebra", "--mode", "lexical", "--bundle", str(file))[0] == 1


def test_options_and_files_that_do_not_fit_are_refused(file):
    error = error_of("search", "harbour", "--bundle", str(file), "--workspace", "w", code=2)
    assert "--workspace" in error["message"]
    file.write_bytes(file.read_bytes()[:5_000])
    error = error_of("search", "harbour", "--bundle", str(file), code=2)
    assert error["code"] == "bundle_damaged"


@pytest.mark.slow
def test_search_in_a_bundle_needs_no_server(file, tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KEBAB_")}
    data = tmp_path / "data"
    arguments = [
        sys.executable,
        str(ROOT / "manage.py"),
        "search",
        "harbour",
        "--bundle",
        str(file),
        "--json",
    ]
    done = subprocess.run(
        arguments,
        env={**kept, "KEBAB_DATA_DIR": str(data), "KEBAB_EMBEDDER": "hash"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hits"]
    assert not (data / "postgres").exists()
    assert not any((data / "redis").iterdir())
