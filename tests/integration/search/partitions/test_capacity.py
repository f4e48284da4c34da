"""The capacity model: what it says of sizes that were measured is what was measured there."""

import importlib.util
import json
import re
import subprocess
import sys

import pytest
from django.conf import settings as django_settings

MODEL = django_settings.BASE_DIR / "deploy" / "capacity.py"
MANUAL = django_settings.BASE_DIR / "docs" / "operations" / "capacity.md"
FIGURES = django_settings.BASE_DIR / "docs" / "benchmarks"
# How far a size that the model has not seen may be from what was measured there, as a factor: bytes nearly
# repeat, times on shared cores don't.
BYTES, TIMES = 1.4, 2.0


@pytest.fixture(scope="module")
def capacity():
    spec = importlib.util.spec_from_file_location("capacity", MODEL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["capacity"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["capacity"]


@pytest.fixture(scope="module")
def figures(capacity):
    return capacity.read_figures(FIGURES)


@pytest.fixture(scope="module")
def costs(capacity, figures):
    return capacity.Costs.of(figures)


def ask(*arguments):
    done = subprocess.run(
        [sys.executable, str(MODEL), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fleets_for(capacity, costs, **load):
    given = {
        "chunks": 10_000_000,
        "workspaces": 100,
        "qps": 50,
        "days_to_load": 7,
        "largest_share": 0,
        **load,
    }
    found = capacity.fleets(costs, capacity.Load(**given), capacity.Prices())
    return {fleet.name: fleet for fleet in found}


def near(found, expected, factor):
    return expected / factor <= found <= expected * factor


def test_cost_curve_interpolates_and_extrapolates_its_points(capacity):
    rising = capacity.Curve.from_nothing([(100, 10.0), (200, 40.0)])
    assert [rising.at(x) for x in (0, 50, 100, 150, 200, 300)] == [0, 5, 10, 25, 40, 70]
    assert [rising.where(y) for y in (5, 25, 70)] == [50, 150, 300]
    assert rising.rate == 0.2


def test_cost_curve_has_a_floor_and_never_falls_beyond_its_points(capacity):
    level = capacity.Curve.level([(200, 8.0), (100, 10.0)])
    assert [level.at(x) for x in (0, 50, 100, 150, 200, 1_000)] == [10, 10, 10, 9, 8, 8]
    assert level.where(11) == float("inf")


def test_predictions_are_what_was_measured(capacity, costs, figures):
    for row in figures["growth"]["rows"]:
        found, disk, modes = capacity.predict(costs, row["chunks"]), row["disk_mb"], row["modes"]
        expected = {
            "tables_mb": disk["tables"],
            "vector_index_mb": disk["vector_index"],
            "codes_mb": disk["codes"],
            "mirror_mb": disk["mirror"],
            "hybrid_p50_ms": modes["hybrid"]["p50_ms"],
            "lexical_p95_ms": modes["lexical"]["p95_ms"],
            "mirror_rebuild_s": row["mirror_rebuild_s"],
            "index_build_s": row["vectors"]["index_build_s"] or 0.0,
        }
        assert found == pytest.approx(expected)


FORETOLD = {
    "tables": ("from_nothing", lambda row: row["disk_mb"]["tables"], BYTES),
    "mirror": ("level", lambda row: row["disk_mb"]["mirror"], BYTES),
    "rebuild": ("from_nothing", lambda row: row["mirror_rebuild_s"], TIMES),
    "lexical": ("level", lambda row: row["modes"]["lexical"]["p50_ms"], TIMES),
}


def test_cost_curve_predicts_a_left_out_measurement(capacity, figures, subtests):
    for name, (begins, value, factor) in FORETOLD.items():
        for place in (1, 2, 3, 4):
            points = [(row["chunks"], value(row)) for row in figures["growth"]["rows"]]
            chunks, expected = points.pop(place)
            curve = getattr(capacity.Curve, begins)(points)
            with subtests.test(figure=name, place=place):
                assert near(curve.at(chunks), expected, factor)


def test_vectors_cost_the_nodes_or_the_database_and_never_both(capacity, costs, figures):
    limit = figures["growth"]["exact_scan_limit"]
    scanned, indexed = capacity.predict(costs, limit), capacity.predict(costs, limit + 1)
    assert scanned["codes_mb"] > 0 == scanned["vector_index_mb"]
    assert indexed["vector_index_mb"] > 0 == indexed["codes_mb"]


def test_one_large_workspace_among_small_ones_has_the_only_index(capacity, costs):
    alike = fleets_for(capacity, costs)["database"].disk_gb
    uneven = fleets_for(capacity, costs, largest_share=0.5)["database"].disk_gb
    assert uneven > alike


def test_more_chunks_and_more_queries_take_more_machines(capacity, costs):
    def machines(**load):
        return {name: fleet.machines for name, fleet in fleets_for(capacity, costs, **load).items()}

    ten, billion = machines(), machines(chunks=1_000_000_000)
    assert billion["database"] > ten["database"]
    assert billion["search node"] >= ten["search node"]
    assert machines(qps=5_000)["search node"] > ten["search node"]
    assert machines(days_to_load=0.1)["worker"] > ten["worker"]


def test_limits_are_listed_in_order_with_remedies(capacity, costs):
    found = capacity.limits(costs)
    assert [limit.chunks for limit in found] == sorted(limit.chunks for limit in found)
    assert all(limit.remedy for limit in found)


def test_model_answers_people_and_programs():
    output = ask("--chunks", "10_000_000", "--workspaces", "1_000", "--qps", "50")
    assert "database" in output
    found = json.loads(ask("--chunks", "1_000_000_000", "--workspaces", "100000", "--json"))
    assert {fleet["name"] for fleet in found["machines"]} == {"database", "search node", "worker"}


@pytest.mark.parametrize(
    "load",
    [{"workspaces": 1_000}, {"chunks": 10**9, "workspaces": 100_000, "qps": 1_000, "days_to_load": 30}],
)
def test_manual_has_the_fleets_of_the_model(capacity, costs, load):
    rows = [line for line in MANUAL.read_text().splitlines() if line.startswith("|")]
    fleets = fleets_for(capacity, costs, **load)
    shown = [f"{each.machines} × {each.machine.vcpus} vCPU" for each in fleets.values()]
    dollars = round(sum(each.dollars for each in fleets.values()), -2 if "chunks" in load else -1)
    assert any(all(part in row for part in (*shown, f"${dollars:,.0f} |")) for row in rows)


def test_manual_has_the_limits_of_the_model(capacity, costs):
    found = {
        float(number) * (1e3 if unit == "" else 1e6)
        for number, unit in re.findall(
            r"^\| ([\d.]+)(?:,000)?( million)? chunks in", MANUAL.read_text(), re.M
        )
    }
    expected = [limit.chunks for limit in capacity.limits(costs) if "database's disk" not in limit.what]
    assert found == {float(f"{chunks:.2g}") for chunks in expected}
