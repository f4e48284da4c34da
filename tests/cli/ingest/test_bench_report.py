"""The page, the figures and the plots of `kebab bench --report`."""

import copy
import json

import pytest

from ingest.cli.bench.figures import Figure
from ingest.cli.bench.report import page
from ingest.cli.bench.report.page import write_report

FIGURES = [
    Figure(name="lexical in-process, p50", value=4.0, unit="ms", at_most=8.0),
    Figure(name="ingest to searchable", value=900.0, unit="chunks/s", at_least=1_500.0),
    Figure(name="hybrid over HTTP", value=None, unit="ms", note="no `kebab up` runs"),
]
CONDITIONS = {"kebab": "0.1.0", "cores": 2, "chunks": 1_380}
BUDGETS = {
    "schema_version": "bench.v1",
    "conditions": CONDITIONS,
    "figures": [figure.as_json() for figure in FIGURES],
}


def _speed(system, p50_ms):
    ratios = {"p50_ratio": p50_ms / 4, "p95_ratio": p50_ms / 4}
    return {"group": "hybrid", "system": system, "p50_ms": p50_ms, "p95_ms": 2 * p50_ms, **ratios, "note": ""}


def _quality(name, system, worth):
    facts = {"set": name, "group": "hybrid", "system": system}
    return {**facts, "nDCG@10": worth, "kebab_ahead_by": 0.7 - worth}


HTTP = {
    "group": "http",
    "system": "Kebab",
    "requests_per_s": 200.0,
    "p95_ms": 60.0,
    "rate_ratio": 1.0,
    "note": "",
}
PEERS = {
    "schema_version": "bench.v1",
    "conditions": CONDITIONS,
    "figures": [],
    "peers": {
        "speed": [_speed("Kebab", 4.0), _speed("LanceDB 1", 6.0)],
        "http": [HTTP],
        "quality": [_quality("scifact", "Kebab", 0.7), _quality("scifact", "LanceDB 1", 0.65)],
        "skipped": {"txtai": "txtai not installed"},
    },
}
GROWTH = {
    "schema_version": "bench.v1",
    "conditions": CONDITIONS,
    "figures": [],
    "growth": {
        "real_documents": 12,
        "embed_at_most": 100,
        "queries": 5,
        "rows": [
            {
                "size": size,
                "chunks": size,
                "documents": size // 10,
                "ingest_chunks_per_s": 1_000.0,
                "vectors": {"embedded": 10, "made_up": 10, "index_build_s": None},
                "modes": {mode: {"p50_ms": 2.0, "p95_ms": 5.0} for mode in ("lexical", "vector", "hybrid")},
                "http": {"p50_ms": 8.0, "p95_ms": 12.0},
                "disk_mb": {"tables": size / 100, "vector_index": 0.0, "mirror": size / 200, "codes": 0.4},
                "mirror_rebuild_s": size / 1_000,
                "memory_mb": {"web": 120.0, "whole stack": 600.0},
            }
            for size in (1_000, 10_000)
        ],
    },
}
ALL = (BUDGETS, PEERS, GROWTH)
PLOTS = {
    "budgets.svg",
    "peers-latency.svg",
    "peers-throughput.svg",
    "peers-quality.svg",
    "growth-latency.svg",
    "growth-ingest.svg",
    "growth-disk.svg",
    "growth-memory.svg",
}


@pytest.fixture
def without_plots(monkeypatch):
    monkeypatch.setattr(page, "installed_version", lambda package: None)


def read(folder):
    return (folder / "README.md").read_text()


def test_figures_peers_and_sizes_are_rows_of_the_page(tmp_path, without_plots):
    for document in ALL:
        write_report(tmp_path, document)
    latencies = "2.0/5.0 | 2.0/5.0 | 2.0/5.0 | 8.0/12.0"
    text = read(tmp_path)
    for row in (
        "| lexical in-process, p50 | 4 | ms | at most 8 | yes |",
        "| ingest to searchable | 900 | chunks/s | at least 1,500 | **no** |",
        "| hybrid over HTTP | - | ms |  |  | no `kebab up` runs |",
        "Conditions: chunks 1380, cores 2, kebab 0.1.0.",
        "| hybrid | LanceDB 1 | 6 | 12 | 1.5 | 1.5 |",
        "| hybrid | LanceDB 1 | 0.650 | 0.650 |",
        "txtai not installed",
        f"| 1,000 | 1,000 | {latencies} | - | 1 | 10 | 0 | 0.4 | 5 | 120 | 600 |",
    ):
        assert row in text
    assert json.loads((tmp_path / "budgets.json").read_text())["figures"] == BUDGETS["figures"]


def test_sets_judged_apart_come_together_and_leave_the_speed_as_it_was(tmp_path, without_plots):
    write_report(tmp_path, PEERS)
    later = copy.deepcopy(PEERS)
    later["conditions"] = {"chunks": 0}
    later["peers"] |= {
        "speed": [],
        "http": [],
        "quality": [_quality("cranfield", "Kebab", 0.5)],
        "skipped": {},
    }
    write_report(tmp_path, later)
    kept = json.loads((tmp_path / "peers.json").read_text())
    assert {row["set"] for row in kept["peers"]["quality"]} == {"scifact", "cranfield"}
    assert (kept["peers"]["speed"], kept["conditions"]) == (PEERS["peers"]["speed"], CONDITIONS)
    # The peer was asked on one of the sets alone, so it has no mean.
    assert "| hybrid | LanceDB 1 | 0.650 | - | - |" in read(tmp_path)


def test_without_matplotlib_there_are_no_plots_and_it_is_said(tmp_path, without_plots):
    said = write_report(tmp_path, BUDGETS)
    assert "matplotlib" in said[0]
    assert not list(tmp_path.glob("*.svg"))
    assert ".svg" not in read(tmp_path)


def test_plots_are_drawn_and_the_same_for_the_same_figures(tmp_path):
    pytest.importorskip("matplotlib")
    for folder in (tmp_path / "one", tmp_path / "two"):
        for document in ALL:
            write_report(folder, document)
    drawn = {path.name: path.read_bytes() for path in (tmp_path / "one").glob("*.svg")}
    assert drawn.keys() == PLOTS
    assert all(f"]({name})" in read(tmp_path / "one") for name in PLOTS)
    assert drawn == {path.name: path.read_bytes() for path in (tmp_path / "two").glob("*.svg")}
    assert not any(b"dc:date" in content for content in drawn.values())
