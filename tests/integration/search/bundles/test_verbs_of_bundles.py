"""`kebab export`, `kebab import` and `kebab search --bundle`."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext

import pytest

from kebab.cli import verb
from kebab.people.models import Workspace
from tests.cli.running import error_of, run, run_json
from tests.integration.search.bundles.by_hand import write_by_hand
from tests.support.paths import ROOT

MANAGE = ROOT / "manage.py"


@pytest.fixture
def verbs(monkeypatch):
    monkeypatch.setattr(verb, "borrowed_stack", lambda *_, **__: nullcontext())


def test_a_workspace_goes_out_and_comes_in(workspace, verbs, tmp_path):
    file = tmp_path / "out.kebab"
    written = run_json("export", str(file), "--workspace", workspace.slug)
    made = run_json("import", str(file), "--workspace", "elsewhere", "--name", "Elsewhere")

    assert written["schema_version"] == "bundle_export.v1"
    assert (written["documents"], written["chunks"]) == (made["documents"], made["chunks"]) == (13, 49)
    assert written["size_bytes"] == file.stat().st_size
    assert (made["workspace"], made["name"], made["detached_sources"]) == ("elsewhere", "Elsewhere", [])
    assert Workspace.objects.filter(pk=made["id"], slug="elsewhere").exists()


def test_people_see_what_was_written_and_how_far_it_is(workspace, verbs, tmp_path):
    code, out, err = run("export", str(tmp_path / "out.kebab"), "--workspace", workspace.slug)

    assert code == 0
    assert "13 documents, 49 chunks" in out
    assert "13/13" in err


def test_refusals_say_which(workspace, verbs, tmp_path):
    file = tmp_path / "out.kebab"
    run_json("export", str(file), "--workspace", workspace.slug)
    taken = error_of("import", str(file), "--workspace", workspace.slug, code=1)
    there = error_of("export", str(file), "--workspace", workspace.slug, code=1)
    odd = error_of("import", str(file), "--workspace", "No Slug", code=2)
    missing = error_of("import", str(tmp_path / "none"), "--workspace", "fresh", code=1)
    file.write_bytes(file.read_bytes()[:-1])
    damaged = error_of("import", str(file), "--workspace", "fresh", code=2)

    codes = [each["code"] for each in (taken, there, odd, missing, damaged)]
    assert codes == ["slug_taken", "bundle_exists", "invalid_slug", "bundle_unreadable", "bundle_damaged"]
    assert not Workspace.objects.filter(slug="fresh").exists()


def test_a_folder_that_cannot_be_written_is_named(workspace, verbs, tmp_path):
    error = error_of("export", str(tmp_path / "no" / "out"), "--workspace", workspace.slug, code=1)

    assert error["code"] == "bundle_unreadable"
    assert "no/out" in error["message"]


def bare(tmp_path, *arguments):
    """Run a verb in a process that has no server, no way to one, and a data directory of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KEBAB_")}
    data = tmp_path / "data"
    environment = {**kept, "KEBAB_DATA_DIR": str(data), "KEBAB_EMBEDDER": "hash"}
    command = [sys.executable, str(MANAGE), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    return done, data


def test_a_bundle_is_searched_without_any_server(tmp_path):
    file = write_by_hand(tmp_path / "hand.kebab")
    done, data = bare(tmp_path, "search", "harbour lighthouse", "--bundle", str(file), "--json")

    result = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert result["schema_version"] == "search_response.v1"
    assert result["degraded"] == []
    assert len(result["hits"]) == 10
    assert all(hit["citation"]["uri"].startswith("guides/") for hit in result["hits"])
    assert not (data / "postgres").exists()
    assert not any((data / "redis").iterdir())


def test_nothing_found_in_a_bundle_ends_with_one(tmp_path):
    file = write_by_hand(tmp_path / "hand.kebab")
    done, _ = bare(tmp_path, "search", "zebra", "--mode", "lexical", "--bundle", str(file))

    assert done.returncode == 1
    assert "Nothing was found in by-hand" in done.stderr


def test_what_means_nothing_for_a_bundle_is_refused(tmp_path):
    file = write_by_hand(tmp_path / "hand.kebab")
    error = error_of("search", "harbour", "--bundle", str(file), "--workspace", "w", code=2)

    assert "--workspace" in error["message"]


def test_a_damaged_bundle_is_not_searched(tmp_path):
    file = write_by_hand(tmp_path / "hand.kebab")
    file.write_bytes(file.read_bytes()[:5_000])
    error = error_of("search", "harbour", "--bundle", str(file), code=2)

    assert error["code"] == "bundle_damaged"
