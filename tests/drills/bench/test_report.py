"""Report page, figures and plots of the measurements."""

import json

import pytest

from tests.drills.bench.budgets.figures import Figure
from tests.drills.bench.report import page
from tests.drills.bench.report.page import write_report

FIGURES = [
    Figure(name="lexical in-process, p50", value=4.0, unit="ms", at_most=8.0),
    Figure(name="ingest to searchable", value=900.0, unit="chunks/s", at_least=1_500.0),
    Figure(name="hybrid over HTTP", value=None, unit="ms", note="no `kebab up` runs"),
]
LATENCIES = {"p50_ms": 2.0, "p95_ms": 5.0}


def document(kind, found, *, cores=2):
    return {"schema_version": "bench.v1", "conditions": {"cores": cores}, "figures": [], kind: found}


def quality(name, system, worth):
    return {"set": name, "group": "hybrid", "system": system, "nDCG@10": worth, "kebab_ahead_by": 0.0}


PEERS = {
    "speed": [
        {"group": "hybrid", "system": system, **LATENCIES, "p50_ratio": 1.5, "p95_ratio": 1.5, "note": ""}
        for system in ("Kebab", "LanceDB 1")
    ],
    "http": [{"system": "Kebab", "requests_per_s": 200.0, "p95_ms": 60.0, "rate_ratio": 1.0, "note": ""}],
    "quality": [quality("scifact", "Kebab", 0.7), quality("scifact", "LanceDB 1", 0.65)],
    "skipped": {"txtai": "txtai not installed"},
}
SIZE = {
    "chunks": 1_000,
    "ingest_chunks_per_s": 1_000.0,
    "vectors": {"index_build_s": None},
    "modes": dict.fromkeys(("lexical", "vector", "hybrid"), LATENCIES),
    "http": LATENCIES,
    "disk_mb": {"tables": 10, "vector_index": 0.0, "mirror": 5, "codes": 0.4},
    "mirror_rebuild_s": 1,
    "memory_mb": {"web": 120.0, "whole stack": 600.0},
}
ALL = (
    document("figures", [figure.as_json() for figure in FIGURES]),
    document("peers", PEERS),
    document("growth", {"real_documents": 12, "embed_at_most": 100, "rows": [SIZE]}),
)


def test_figures_peers_and_sizes_are_rows_of_the_page_without_plots(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "installed_version", lambda package: None)
    for each in ALL:
        assert "matplotlib" in write_report(tmp_path, each)[0]
    pair = "2.0/5.0"
    text = (tmp_path / "README.md").read_text()
    for row in (
        "| lexical in-process, p50 | 4 | ms | at most 8 | yes |",
        "| ingest to searchable | 900 | chunks/s | at least 1,500 | **no** |",
        "| hybrid over HTTP | - | ms |  |  | no `kebab up` runs |",
        "Conditions: cores 2.",
        "| hybrid | LanceDB 1 | 2 | 5 | 1.5 | 1.5 |",
        "txtai not installed",
        f"| 1,000 | 1,000 | {pair} | {pair} | {pair} | {pair} | - | 1 | 10 | 0 | 0.4 | 5 | 120 | 600 |",
    ):
        assert row in text
    assert not list(tmp_path.glob("*.svg"))

    judged_later = {"speed": [], "http": [], "quality": [quality("cranfield", "Kebab", 0.5)], "skipped": {}}
    write_report(tmp_path, document("peers", judged_later, cores=4))
    kept = json.loads((tmp_path / "peers.json").read_text())
    assert {row["set"] for row in kept["peers"]["quality"]} == {"scifact", "cranfield"}
    assert (kept["peers"]["speed"], kept["conditions"]) == (PEERS["speed"], {"cores": 2})
    # The peer was measured on one of the sets only, so it has no mean.
    assert "| hybrid | LanceDB 1 | 0.650 | - | - |" in (tmp_path / "README.md").read_text()


def test_plots_are_drawn_and_the_same_for_the_same_figures(tmp_path):
    pytest.importorskip("matplotlib")
    for folder in (tmp_path / "one", tmp_path / "two"):
        for each in ALL:
            write_report(folder, each)
    drawn = {path.name: path.read_bytes() for path in (tmp_path / "one").glob("*.svg")}
    text = (tmp_path / "one" / "README.md").read_text()
    assert len(drawn) == 8
    assert all(f"]({name})" in text for name in drawn)
    assert drawn == {path.name: path.read_bytes() for path in (tmp_path / "two").glob("*.svg")}
