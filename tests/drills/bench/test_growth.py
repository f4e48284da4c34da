"""Measurements of growth and of many workspaces; jobs are run whenever the command sleeps."""

from kebab.identity.models import Workspace
from tests.cli.commands import error_of, run_json
from tests.drills.bench.command import Command
from tests.drills.bench.growth import measure

COMMAND = Command()


def test_each_size_is_filled_and_measured_with_an_index_of_its_own(folder, settings, monkeypatch):
    settings.KEBAB_EXACT_SCAN_LIMIT = 5
    dropped = []
    real = measure.drop_index_concurrently
    monkeypatch.setattr(
        measure, "drop_index_concurrently", lambda space: (dropped.append(space.pk), real(space))
    )
    report = run_json(COMMAND, "growth", "20,50", "--path", str(folder), "--embed-at-most", "10")
    first, second = report["growth"]["rows"]
    assert [row["size"] for row in (first, second)] == [20, 50]
    assert 20 <= first["chunks"] < 50
    assert 50 <= second["chunks"] < 110
    assert first["vectors"]["embedded"] >= 10
    assert (second["vectors"]["embedded"], second["vectors"]["made_up"] > 0) == (0, True)
    assert second["modes"].keys() == {"lexical", "vector", "hybrid"}
    assert len(dropped) == 1
    assert all(row["disk_mb"]["vector_index"] > 0 for row in (first, second))
    assert not Workspace.objects.exists()


def test_many_workspaces_are_filled_measured_and_deleted(folder, tmp_path):
    report = run_json(COMMAND, "--report", str(tmp_path / "out"), "tenants", "2", "--path", str(folder))
    found = report["tenants"]
    assert (found["workspaces"], found["chunks"] >= 2 * 50) == (2, True)
    assert found["modes"].keys() == {"lexical", "vector", "hybrid"}
    assert {"sweep", "prune queries", "status"} <= found["upkeep_s"].keys()
    assert not Workspace.objects.exists()
    assert (tmp_path / "out" / "README.md").read_text()


def test_filters_and_facets_are_measured_against_the_plain_search(folder):
    report = run_json(COMMAND, "filters", "60", "--path", str(folder), "--queries", "2")
    ratios = [figure["name"] for figure in report["figures"] if figure["unit"] == "times without"]
    assert (len(ratios), report["conditions"]["documents"]) == (8, 60)
    assert not Workspace.objects.exists()


def test_growth_without_an_embedder_or_text_is_rejected(folder, settings, tmp_path):
    settings.KEBAB_EMBEDDER = "none"
    error = error_of(COMMAND, "growth", "12", "--path", str(folder), code=2)
    assert "KEBAB_EMBEDDER" in error["message"]
    settings.KEBAB_EMBEDDER = "hash"
    (tmp_path / "empty").mkdir()
    error = error_of(COMMAND, "growth", "12", "--path", str(tmp_path / "empty"), code=2)
    assert error["code"] == "no_text"
