#!/usr/bin/env python3
"""How many of which machine so many chunks and queries take, what they cost, and what breaks first.

    deploy/capacity.py --chunks 10_000_000 --workspaces 1_000 --qps 50

Costs of a chunk and of a query are read from measured rows (docs/benchmarks/growth.json, made by
`kebab bench --growth`), so that a new measurement is a new model. Needs nothing but Python.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_MEASURED = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "growth.json"
# Of processors and of disks: above this they queue, or have no room for a rebuild.
_BUSY = 0.6
_FULL = 0.7
# Dead rows and the log beside live ones.
_BLOAT = 1.3
# Of vector indexes, tables and mirrors, what queries come back to within minutes.
_HOT = 0.25
# Nodes that hold each mirror.
_REPLICAS = 2
# Of an embedder on two cores: docs/benchmarks, 170 to 184 chunks/s.
_EMBED_CPU_S = 2 / 175
# Of rows that were measured before these were: docs/benchmarks/profile.md, and the budget's 30 s for 100,000.
_WEB_CPU_MS, _POSTGRES_CPU_MS, _REBUILD_S_A_CHUNK = 27.5, 7.5, 30.2 / 100_000
_GB = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What one machine has; disks are added as needed, up to the most."""

    vcpus: int
    memory_gb: int
    most_disk_gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Of a month, in dollars: list prices of large clouds without commitment lie about here."""

    vcpu: float = 25.0
    memory_gb: float = 3.5
    disk_gb: float = 0.10


# The cheapest that does is taken; the last of each is the largest that one thinks of as one machine.
DATABASES = (
    Machine(vcpus=4, memory_gb=32, most_disk_gb=2_000),
    Machine(vcpus=8, memory_gb=64, most_disk_gb=4_000),
    Machine(vcpus=32, memory_gb=256, most_disk_gb=16_000),
)
SEARCHERS = (
    Machine(vcpus=2, memory_gb=8, most_disk_gb=500),
    Machine(vcpus=4, memory_gb=16, most_disk_gb=1_000),
    Machine(vcpus=8, memory_gb=64, most_disk_gb=2_000),
)
WORKERS = (Machine(vcpus=2, memory_gb=4, most_disk_gb=50), Machine(vcpus=8, memory_gb=16, most_disk_gb=50))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`base + slope · x`, by least squares."""

    base: float
    slope: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> "Line":
        """Fit; neither slope nor base falls below 0, and through one point it goes from the origin."""
        mean_x = sum(x for x, _ in points) / len(points)
        mean_y = sum(y for _, y in points) / len(points)
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        if not spread:
            return cls(base=0.0, slope=mean_y / mean_x)
        slope = max(0.0, sum((x - mean_x) * (y - mean_y) for x, y in points) / spread)
        base = mean_y - slope * mean_x
        return cls(base=max(0.0, base), slope=slope if base >= 0 else mean_y / mean_x)

    def at(self, x: float) -> float:
        """Give the value at x."""
        return self.base + self.slope * x


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What was measured, as lines over the chunks of a workspace. Bytes, milliseconds, seconds."""

    tables_bytes: Line
    index_bytes: Line
    mirror_bytes: Line
    #: Of a hybrid search: the leg by words, the whole of it, and the time on processors here and in Postgres.
    lexical_p95_ms: Line
    hybrid_p50_ms: Line
    web_cpu_ms: Line
    postgres_cpu_ms: Line
    rebuild_s: Line
    index_build_s: Line
    ingest_cpu_s: float
    cores: int

    @classmethod
    def of(cls, measured: dict[str, Any]) -> "Costs":
        """Read the costs from what `kebab bench --growth` gave."""
        rows, cores = measured["growth"]["rows"], measured["conditions"]["cores"]
        # Below it vectors are scanned, and what doesn't grow with the chunks hides what does.
        large = [row for row in rows if row["vectors"]["index_build_s"] is not None]

        def line(value: Callable[[dict[str, Any]], float]) -> Line:
            return Line.through([(row["chunks"], value(row)) for row in large])

        return cls(
            tables_bytes=line(lambda row: row["disk_mb"]["tables"] * 1e6),
            index_bytes=line(lambda row: row["disk_mb"]["vector_index"] * 1e6),
            mirror_bytes=line(lambda row: row["disk_mb"]["mirror"] * 1e6),
            lexical_p95_ms=line(lambda row: row["modes"]["lexical"]["p95_ms"]),
            hybrid_p50_ms=line(lambda row: row["modes"]["hybrid"]["p50_ms"]),
            web_cpu_ms=line(lambda row: (row.get("cpu_ms") or {}).get("web", _WEB_CPU_MS)),
            postgres_cpu_ms=line(lambda row: (row.get("cpu_ms") or {}).get("postgres", _POSTGRES_CPU_MS)),
            rebuild_s=line(lambda row: row.get("mirror_rebuild_s", row["chunks"] * _REBUILD_S_A_CHUNK)),
            index_build_s=line(lambda row: row["vectors"]["index_build_s"]),
            ingest_cpu_s=cores / min(row["ingest_chunks_per_s"] for row in large),
            cores=cores,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked of it."""

    chunks: int
    workspaces: int
    #: At the busiest time.
    qps: float
    #: In which all of it is loaded at first; after that a hundredth of it changes each day.
    days_to_load: float
    #: Of all chunks, in the largest workspace.
    largest_share: float

    @property
    def largest(self) -> float:
        """Give the chunks of the largest workspace."""
        return max(self.chunks / self.workspaces, self.chunks * self.largest_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Machines of one kind."""

    name: str
    machines: int
    machine: Machine
    disk_gb: float
    #: What decides on the number.
    because: str
    dollars: float


def fleets(costs: Costs, load: Load, prices: Prices) -> list[Fleet]:
    """Give the machines of each kind: enough processors, memory for what is hot, and disk."""
    each = load.chunks / load.workspaces
    tables_gb = load.chunks * (costs.tables_bytes.slope + costs.index_bytes.slope) / _GB
    mirrors_gb = load.workspaces * costs.mirror_bytes.at(each) * _REPLICAS / _GB
    daily = load.chunks / 100
    ingest_cpu = (daily / 86_400) * costs.ingest_cpu_s
    load_cpu = load.chunks / (load.days_to_load * 86_400) * (costs.ingest_cpu_s + _EMBED_CPU_S)
    queries = load.qps / 1000
    database = Need(
        cpu=queries * costs.postgres_cpu_ms.at(load.largest) + ingest_cpu,
        memory_gb=_HOT * tables_gb,
        disk_gb=tables_gb * _BLOAT,
    )
    search = Need(
        cpu=queries * costs.web_cpu_ms.at(load.largest),
        memory_gb=_HOT * mirrors_gb / _REPLICAS + 2,
        disk_gb=mirrors_gb,
    )
    work = Need(cpu=load_cpu, memory_gb=2, disk_gb=20)
    return [
        _fewest("database", DATABASES, prices, 1, database),
        _cheapest("search node", SEARCHERS, prices, 2, search),
        _cheapest("worker", WORKERS, prices, 1, work),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What all machines of a kind have to have together: busy processors, and what is used of the rest."""

    cpu: float
    memory_gb: float
    disk_gb: float


def _fewest(name: str, machines: Sequence[Machine], prices: Prices, least: int, need: Need) -> Fleet:
    """Give the smallest machine that is enough by itself, else the largest: each more is one to split for."""
    fleets = [_fleet(name, machine, prices, least, need) for machine in machines]
    return min(fleets, key=lambda fleet: (fleet.machines, fleet.dollars))


def _cheapest(name: str, machines: Sequence[Machine], prices: Prices, least: int, need: Need) -> Fleet:
    fleets = [_fleet(name, machine, prices, least, need) for machine in machines]
    return min(fleets, key=lambda fleet: fleet.dollars)


def _fleet(name: str, machine: Machine, prices: Prices, least: int, need: Need) -> Fleet:
    needs = {
        "processors": need.cpu / (machine.vcpus * _BUSY),
        "memory": need.memory_gb / machine.memory_gb,
        "disk": need.disk_gb / (machine.most_disk_gb * _FULL),
    }
    because = max(needs, key=lambda kind: needs[kind])
    machines = max(least, math.ceil(needs[because]))
    one = machine.vcpus * prices.vcpu + machine.memory_gb * prices.memory_gb
    disk_gb = need.disk_gb / _FULL
    return Fleet(
        name=name,
        machines=machines,
        machine=machine,
        disk_gb=round(disk_gb, 1),
        because=because if machines > least else "the least there must be",
        dollars=round(machines * one + disk_gb * prices.disk_gb, 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Something that breaks, at how many chunks, and what to do then."""

    what: str
    #: Of one workspace, or of all together.
    chunks: float
    of: str
    remedy: str


def limits(costs: Costs) -> list[Limit]:
    """Give what breaks on one machine of each kind, first what breaks first."""
    table = costs.tables_bytes.slope + costs.index_bytes.slope
    hot_gb, room_gb = DATABASES[-1].memory_gb, DATABASES[-1].most_disk_gb * _FULL
    found = [
        Limit(what="a vector index is built outside of its memory", of="a workspace",
              chunks=1_000_000_000 / (2 * 384 + 800),
              remedy="raise KEBAB_INDEX_MEMORY_BYTES to 1,600 bytes a chunk"),
        Limit(what="one search in twenty loses its words to the limit of 250 ms", of="a workspace",
              chunks=_where(costs.lexical_p95_ms, 250.0),
              remedy="split the workspace, or raise KEBAB_LEG_LIMIT_MS"),
        Limit(what="a mirror is made anew for longer than an hour", of="a workspace",
              chunks=_where(costs.rebuild_s, 3_600.0), remedy="split the workspace"),
        Limit(what="what is hot no longer fits into the database's memory", of="all",
              chunks=hot_gb * _GB / (_HOT * table),
              remedy="a larger database, then several: Citus or a Kebab each, by workspace"),
        Limit(what="the database's disk is full", of="all", chunks=room_gb * _GB / (table * _BLOAT),
              remedy="several databases, by workspace"),
        Limit(what="the mirrors of one search node fill its disk", of="all",
              chunks=SEARCHERS[-1].most_disk_gb * _FULL * _GB / costs.mirror_bytes.slope,
              remedy="more nodes behind a proxy that hashes on the workspace; KEBAB_MIRROR_LIMIT_BYTES"),
    ]  # fmt: skip
    return sorted(found, key=lambda limit: limit.chunks)


def _where(line: Line, value: float) -> float:
    return (value - line.base) / line.slope if line.slope else math.inf


def predicted(costs: Costs, chunks: float) -> dict[str, float]:
    """Give what a workspace of so many chunks takes, by the names of the measured rows."""
    return {
        "tables_mb": costs.tables_bytes.at(chunks) / 1e6,
        "vector_index_mb": costs.index_bytes.at(chunks) / 1e6,
        "mirror_mb": costs.mirror_bytes.at(chunks) / 1e6,
        "hybrid_p50_ms": costs.hybrid_p50_ms.at(chunks),
        "lexical_p95_ms": costs.lexical_p95_ms.at(chunks),
        "mirror_rebuild_s": costs.rebuild_s.at(chunks),
        "index_build_s": costs.index_build_s.at(chunks),
    }


def main(arguments: Sequence[str]) -> int:
    """Print the model's answer."""
    given = _parsed(arguments)
    costs = Costs.of(json.loads(given.figures.read_text(encoding="utf-8")))
    load = Load(
        chunks=given.chunks,
        workspaces=given.workspaces,
        qps=given.qps,
        days_to_load=given.days_to_load,
        largest_share=given.largest_share,
    )
    answer = {
        "load": asdict(load),
        "machines": [asdict(fleet) for fleet in fleets(costs, load, Prices())],
        "largest_workspace": predicted(costs, load.largest),
        "limits": [asdict(limit) for limit in limits(costs)],
    }
    sys.stdout.write(json.dumps(answer, indent=1) + "\n" if given.json else "\n".join(_lines(answer)) + "\n")
    return 0


def _lines(answer: dict[str, Any]) -> list[str]:
    lines = ["machines:"]
    lines += [_machine_line(fleet) for fleet in answer["machines"]]
    lines.append(f"  ${sum(fleet['dollars'] for fleet in answer['machines']):,.0f} a month in all")
    lines.append("the largest workspace:")
    lines += [f"  {name:<18} {value:>14,.1f}" for name, value in answer["largest_workspace"].items()]
    lines.append("what breaks, in order:")
    lines += [
        f"  {limit['chunks']:>16,.0f} chunks of {limit['of']}: {limit['what']}; {limit['remedy']}"
        for limit in answer["limits"]
    ]
    return lines


def _machine_line(fleet: dict[str, Any]) -> str:
    machine = fleet["machine"]
    size = f"{machine['vcpus']} vCPU, {machine['memory_gb']} GB; {fleet['disk_gb']:,.0f} GB disk in all"
    number = f"{fleet['machines']:>4} × {fleet['name']:<12}"
    return f"  {number} {size}; {fleet['because']}; ${fleet['dollars']:,.0f} a month"


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--chunks", type=lambda text: int(text.replace(",", "")), required=True)
    add("--workspaces", type=lambda text: int(text.replace(",", "")), default=1)
    add("--qps", type=float, default=10.0, help="queries a second at the busiest time (10)")
    add("--days-to-load", type=float, default=7.0, help="in which all is ingested and embedded at first (7)")
    add("--largest-share", type=float, default=0.0, help="of all chunks, in the largest workspace (equal)")
    add("--figures", type=Path, default=_MEASURED, help="measured rows (docs/benchmarks/growth.json)")
    add("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
