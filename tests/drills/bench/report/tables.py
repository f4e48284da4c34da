"""Tables of the report's page, in Markdown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_VERDICTS = {True: "yes", False: "**no**", None: ""}

#: A row of a table: values by column.
Row = Mapping[str, Any]


def budget_lines(figures: Sequence[Row]) -> Iterator[str]:
    """Yield the table of budgets, met or not."""
    yield _table(
        ("figure", "value", "unit", "budget", "met", "note"),
        (
            (
                row["name"],
                _number(row["value"]),
                row["unit"],
                row["budget"],
                _VERDICTS[row["is_met"]],
                row["note"],
            )
            for row in figures
        ),
    )


def peer_lines(peers: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tables of peers: speed in one process, over HTTP, and quality."""
    if peers["speed"]:
        yield (
            "Milliseconds of one search in one process, by turns; × is the peer's time as a multiple of"
            " Kebab's. Peers are given the query's vector and give bare ids; Kebab embeds the query and gives"
            " whole hits, read back under rights.\n"
        )
        yield _table(
            ("mode", "system", "p50", "p95", "× p50", "× p95", "how"),
            (
                (r["group"], r["system"], *(_number(r[name]) for name in _SPEED), r["note"])
                for r in peers["speed"]
            ),
        )
    if peers["http"]:
        yield "Over HTTP, eight clients on the same machine, by turns.\n"
        yield _table(
            ("system", "requests/s", "p95 ms", "Kebab's rate is", "how"),
            (
                (
                    r["system"],
                    _number(r["requests_per_s"]),
                    _number(r["p95_ms"]),
                    f"{r['rate_ratio']:.2f} ×",
                    r["note"],
                )
                for r in peers["http"]
            ),
        )
    yield from _quality_lines(peers["quality"])
    yield from (f"Left out: {name}, {why}.\n" for name, why in peers["skipped"].items())


_SPEED = ("p50_ms", "p95_ms", "p50_ratio", "p95_ratio")


def _quality_lines(rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    sets = list(dict.fromkeys(row["set"] for row in rows))
    systems = list(dict.fromkeys((row["group"], row["system"]) for row in rows))
    worth = {(row["group"], row["system"], row["set"]): row["nDCG@10"] for row in rows}
    yield "nDCG@10 on judged sets, over the same chunks and vectors; a document counts by its best chunk.\n"
    yield _table(
        ("mode", "system", *sets, "mean"),
        (
            (group, system, *(_share(value) for value in found), _share(_mean(found)))
            for group, system in systems
            for found in [[worth.get((group, system, name)) for name in sets]]
        ),
    )


_DISK = ("tables", "vector_index", "codes", "mirror")


def growth_lines(growth: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of figures by size."""
    yield (
        "One workspace, filled step by step through the ordinary pipeline. Beyond the folder's own documents"
        f" ({growth['real_documents']:,}) text is recombined from their paragraphs; beyond"
        f" {growth['embed_at_most']:,} chunks vectors are made up around real ones. Latencies are p50/p95 in"
        " ms, disk and memory in MB.\n"
    )
    yield _table(
        (
            *("chunks", "ingest, chunks/s", "lexical", "vector", "hybrid", "HTTP, hybrid"),
            *("index built, s", "mirror rebuilt, s"),
            *("tables", "vector index", "vector codes", "mirror", "web", "whole stack"),
        ),
        (
            (
                f"{row['chunks']:,}",
                _number(row["ingest_chunks_per_s"]),
                *(_pair(row["modes"].get(mode)) for mode in ("lexical", "vector", "hybrid")),
                _pair(row["http"]),
                _number(row["vectors"]["index_build_s"]),
                _number(row.get("mirror_rebuild_s")),
                *(
                    _number(row["disk_mb"].get(name))
                    for name in ("tables", "vector_index", "codes", "mirror")
                ),
                *(_number(row["memory_mb"].get(name)) for name in ("web", "whole stack")),
            )
            for row in growth["rows"]
        ),
    )


def tenant_lines(tenants: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of the costs of many small workspaces."""
    modes = {name: _pair(tenants["modes"].get(name)) for name in ("lexical", "vector", "hybrid")}
    held, cores = tenants.get("held") or {}, tenants.get("idle_cores") or {}
    facts = {
        "workspaces": f"{tenants['workspaces']:,}",
        "chunks": f"{tenants['chunks']:,}",
        "ingest, chunks/s": _number(tenants["ingest_chunks_per_s"]),
        "mirrors built, a second": _number(tenants["mirrors_built_per_s"]),
        **{f"{name}, p50/p95 ms, each workspace asked once": pair for name, pair in modes.items()},
        "hybrid over HTTP, p50/p95 ms": _pair(tenants["http"]),
        **{f"{name}, MB on disk": _number(value) for name, value in tenants["disk_mb"].items()},
        **{f"{name}, MB of memory": _number(value) for name, value in tenants["memory_mb"].items()},
        **{f"upkeep: {name}, s": _number(value) for name, value in tenants["upkeep_s"].items()},
        "idle stack, share of a core": _share(cores.get("all")),
        **{
            f"{name} held, all processes / most of one": f"{held[name]} / {held[f'most_{name}']}"
            for name in ("files", "threads")
            if held
        },
    }
    yield _table(("figure", "value"), facts.items())


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _pair(latencies: Mapping[str, float] | None) -> str:
    return "-" if latencies is None else f"{latencies['p50_ms']:.1f}/{latencies['p95_ms']:.1f}"
