"""Printed tables of the measurements beside peers, of growth and of many workspaces."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from kebab.cli.output import table
from tests.drills.bench.budgets.output import show as show_figures
from tests.drills.bench.report.tables import tenant_lines

_SPEED = ("group", "system", "p50_ms", "p95_ms", "times_kebab", "note")
_HTTP = ("system", "requests/s", "p95_ms", "kebab_times_faster", "note")
_QUALITY = ("set", "group", "system", "nDCG@10", "kebab_ahead_by")
_GROWTH = ("chunks", "ingest/s", "lexical", "vector", "hybrid", "tables_MB", "index_MB", "mirror_MB")


def show(console: Console, document: Mapping[str, Any]) -> None:
    """Print a `bench.v1` as tables, and its conditions on a line."""
    if "peers" in document:
        _show_peers(console, document["peers"])
    if "growth" in document:
        console.print(table(_GROWTH, map(_size, document["growth"]["rows"])))
        console.print("Latencies are p50/p95 in ms.")
    if "tenants" in document:
        console.print("\n".join(tenant_lines(document["tenants"])))
    show_figures(console, document)


def _show_peers(console: Console, peers: Mapping[str, Any]) -> None:
    parts: Sequence[tuple[Sequence[str], Sequence[Mapping[str, Any]]]] = (
        (_SPEED, [{**row, "times_kebab": row["p50_ratio"]} for row in peers["speed"]]),
        (_HTTP, [_throughput(row) for row in peers["http"]]),
        (_QUALITY, peers["quality"]),
    )
    for columns, rows in parts:
        if rows:
            console.print(table(columns, rows))
            console.print()
    for name, why in peers["skipped"].items():
        console.print(f"{name}: left out, {why}.")


def _throughput(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "requests/s": row["requests_per_s"], "kebab_times_faster": row["rate_ratio"]}


def _size(row: Mapping[str, Any]) -> dict[str, Any]:
    modes = {name: f"{found['p50_ms']:.1f}/{found['p95_ms']:.1f}" for name, found in row["modes"].items()}
    disk = {
        "tables_MB": row["disk_mb"]["tables"],
        "index_MB": row["disk_mb"]["vector_index"],
        "mirror_MB": row["disk_mb"]["mirror"],
    }
    return {"chunks": f"{row['chunks']:,}", "ingest/s": row["ingest_chunks_per_s"], **modes, **disk}
