#!/usr/bin/env python3
"""Capacity model: machines for a number of chunks and queries, their prices, and the first limits reached.

    deploy/capacity.py --chunks 10_000_000 --workspaces 1_000 --qps 50

The costs of a chunk and of a query come from docs/benchmarks/growth.json and tenants.json, which
`python -m tests.drills.bench` writes, so that a new measurement updates the model. Requires only Python.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

_FIGURES = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
# Highest utilisation of processors and of disks: above it requests queue, or a rebuild has no room.
_MOST_CPU = 0.6
_MOST_DISK = 0.7
# Ratio of the size with dead rows and write-ahead log to the size of live rows.
_BLOAT = 1.3
# Share of vector indexes, tables and mirrors that queries read again within minutes.
_HOT = 0.25
# Nodes that have a copy of each mirror.
_REPLICAS = 2
# CPU time per chunk of an embedder on two cores: 170 to 184 chunks/s in docs/benchmarks.
_EMBED_CPU_S = 2 / 175
_GB = 1e9

#: The figures measured at one size.
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The size of one machine; disks are added as needed, up to `most_disk_gb`."""

    vcpus: int
    memory_gb: int
    most_disk_gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Monthly prices in dollars, close to the list prices of large clouds without commitment."""

    vcpu: float = 25.0
    memory_gb: float = 3.5
    disk_gb: float = 0.10


# Machine sizes to choose from; the cheapest sufficient one is used.
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
class Curve:
    """Piecewise linear function through measured points; beyond the last point its last piece continues."""

    points: tuple[tuple[float, float], ...]

    @classmethod
    def from_nothing(cls, points: Iterable[tuple[float, float]]) -> "Curve":
        """Return a curve through (0, 0), for costs that an empty workspace doesn't have."""
        return cls(points=((0.0, 0.0), *sorted(points)))

    @classmethod
    def level(cls, points: Iterable[tuple[float, float]]) -> "Curve":
        """Return a curve that is constant below the first point, for costs that every workspace has."""
        rising = sorted(points)
        return cls(points=((0.0, rising[0][1]), *rising))

    def at(self, x: float) -> float:
        """Return the value at x."""
        (x0, y0), (x1, y1) = next((piece for piece in self._pieces if x <= piece[1][0]), self._pieces[-1])
        slope = (y1 - y0) / (x1 - x0)
        return y1 + max(0.0, slope) * (x - x1) if x > x1 else y0 + slope * (x - x0)

    def where(self, value: float) -> float:
        """Return the first x at which the curve reaches `value`, infinity when it never does."""
        for (x0, y0), (x1, y1) in self._pieces:
            if y0 < value <= y1:
                return x0 + (value - y0) * (x1 - x0) / (y1 - y0)
        (x0, y0), (x1, y1) = self._pieces[-1]
        return x1 + (value - y1) * (x1 - x0) / (y1 - y0) if y1 > y0 else math.inf

    @property
    def rate(self) -> float:
        """Return the value per unit at the largest measured size."""
        x, y = self.points[-1]
        return y / x

    @property
    def _pieces(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        return list(pairwise(self.points))


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Measured costs by the number of chunks of a workspace, in bytes, milliseconds and seconds."""

    tables_bytes: Curve
    #: Of vectors: an index in the database above `scan_limit`, quantised codes on each node up to it.
    index_bytes: Curve
    codes_bytes: Curve
    scan_limit: int
    mirror_bytes: Curve
    #: Of a hybrid search: its lexical leg, the whole search, and CPU time in the web process and in Postgres.
    lexical_p95_ms: Curve
    hybrid_p50_ms: Curve
    web_cpu_ms: Curve
    postgres_cpu_ms: Curve
    rebuild_s: Curve
    index_build_s: Curve
    ingest_cpu_s: float

    @classmethod
    def of(cls, measured: dict[str, Any]) -> "Costs":
        """Return the costs from the figures that `python -m tests.drills.bench` measured."""
        rows = measured["growth"]["rows"]
        scanned = [row for row in rows if row["vectors"]["index_build_s"] is None]
        indexed = [row for row in rows if row["vectors"]["index_build_s"] is not None]

        def points(value: Callable[[Row], float], of: Sequence[Row] = rows) -> list[tuple[float, float]]:
            return [(row["chunks"], value(row)) for row in of]

        return cls(
            tables_bytes=Curve.from_nothing(points(lambda row: row["disk_mb"]["tables"] * 1e6)),
            index_bytes=Curve.from_nothing(points(lambda row: row["disk_mb"]["vector_index"] * 1e6, indexed)),
            codes_bytes=Curve.from_nothing(points(lambda row: row["disk_mb"]["codes"] * 1e6, scanned)),
            scan_limit=measured["growth"]["exact_scan_limit"],
            mirror_bytes=Curve.level(
                [*_small_mirror(measured), *points(lambda row: row["disk_mb"]["mirror"] * 1e6)]
            ),
            lexical_p95_ms=Curve.level(points(lambda row: row["modes"]["lexical"]["p95_ms"])),
            hybrid_p50_ms=Curve.level(points(lambda row: row["modes"]["hybrid"]["p50_ms"])),
            web_cpu_ms=Curve.level(points(lambda row: row["cpu_ms"]["web"])),
            postgres_cpu_ms=Curve.level(points(lambda row: row["cpu_ms"]["postgres"])),
            rebuild_s=Curve.from_nothing(points(lambda row: row["mirror_rebuild_s"])),
            index_build_s=Curve.from_nothing(points(lambda row: row["vectors"]["index_build_s"], indexed)),
            ingest_cpu_s=measured["conditions"]["cores"]
            / min(row["ingest_chunks_per_s"] for row in rows[1:]),
        )

    def index_at(self, chunks: float) -> float:
        """Return the bytes of a workspace's vector index: 0 when its vectors are scanned."""
        return self.index_bytes.at(chunks) if chunks > self.scan_limit else 0.0

    def codes_at(self, chunks: float) -> float:
        """Return the bytes of a workspace's codes: 0 when its vectors have an index."""
        return self.codes_bytes.at(chunks) if chunks <= self.scan_limit else 0.0


def _small_mirror(measured: dict[str, Any]) -> list[tuple[float, float]]:
    """Return a point for the average mirror of `bench tenants`, empty when that was not measured."""
    if (tenants := measured.get("tenants")) is None:
        return []
    number = tenants["workspaces"]
    return [(tenants["chunks"] / number, tenants["disk_mb"]["mirrors"] * 1e6 / number)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The expected load."""

    chunks: int
    workspaces: int
    #: At the busiest time.
    qps: float
    #: Days for the first ingestion; after that a hundredth of the chunks changes each day.
    days_to_load: float
    #: Share of all chunks in the largest workspace.
    largest_share: float

    @property
    def largest(self) -> float:
        """Return the number of chunks of the largest workspace."""
        return max(self.chunks / self.workspaces, self.chunks * self.largest_share)

    @property
    def workspace_sizes(self) -> list[tuple[int, float]]:
        """Return pairs (workspaces, chunks of each): the largest one, then the others, of equal size."""
        others = self.workspaces - 1
        return [(1, self.largest), (others, (self.chunks - self.largest) / max(1, others))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Machines of one kind."""

    name: str
    machines: int
    machine: Machine
    disk_gb: float
    #: The resource that determines the number.
    because: str
    dollars: float


def fleets(costs: Costs, load: Load, prices: Prices) -> list[Fleet]:
    """Return the machines of each kind, with enough processors, memory for hot data, and disk."""

    def of_all(of_one: Callable[[float], float]) -> float:
        return sum(number * of_one(chunks) for number, chunks in load.workspace_sizes)

    tables_gb = (load.chunks * costs.tables_bytes.rate + of_all(costs.index_at)) / _GB
    node_gb = (of_all(costs.mirror_bytes.at) + of_all(costs.codes_at)) / _GB
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
        memory_gb=_HOT * node_gb + 2,
        disk_gb=_REPLICAS * node_gb,
    )
    work = Need(cpu=load_cpu, memory_gb=2, disk_gb=20)
    return [
        _fewest("database", DATABASES, prices, 1, database),
        _cheapest("search node", SEARCHERS, prices, 2, search),
        _cheapest("worker", WORKERS, prices, 1, work),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The total requirements for all machines of a kind: busy processors, used memory and used disk."""

    cpu: float
    memory_gb: float
    disk_gb: float


def _fewest(name: str, machines: Sequence[Machine], prices: Prices, least: int, need: Need) -> Fleet:
    """Return the fewest machines, then the cheapest: each further database needs a split by workspace."""
    fleets = [_fleet(name, machine, prices, least, need) for machine in machines]
    return min(fleets, key=lambda fleet: (fleet.machines, fleet.dollars))


def _cheapest(name: str, machines: Sequence[Machine], prices: Prices, least: int, need: Need) -> Fleet:
    fleets = [_fleet(name, machine, prices, least, need) for machine in machines]
    return min(fleets, key=lambda fleet: fleet.dollars)


def _fleet(name: str, machine: Machine, prices: Prices, least: int, need: Need) -> Fleet:
    needs = {
        "processors": need.cpu / (machine.vcpus * _MOST_CPU),
        "memory": need.memory_gb / machine.memory_gb,
        "disk": need.disk_gb / (machine.most_disk_gb * _MOST_DISK),
    }
    because = max(needs, key=lambda kind: needs[kind])
    machines = max(least, math.ceil(needs[because]))
    one = machine.vcpus * prices.vcpu + machine.memory_gb * prices.memory_gb
    disk_gb = need.disk_gb / _MOST_DISK
    return Fleet(
        name=name,
        machines=machines,
        machine=machine,
        disk_gb=round(disk_gb, 1),
        because=because if machines > least else "the required minimum",
        dollars=round(machines * one + disk_gb * prices.disk_gb, 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit on the number of chunks, and its remedy."""

    what: str
    #: Of one workspace, or of all workspaces together.
    chunks: float
    of: str
    remedy: str


def limits(costs: Costs) -> list[Limit]:
    """Return the limits of the largest machine of each kind, lowest first."""
    table, mirror = costs.tables_bytes.rate, costs.mirror_bytes.rate
    hot_gb, room_gb = DATABASES[-1].memory_gb, DATABASES[-1].most_disk_gb * _MOST_DISK
    found = [
        Limit(what="the build of a vector index exceeds its memory", of="a workspace",
              chunks=1_000_000_000 / (2 * 384 + 800),
              remedy="raise KEBAB_INDEX_MEMORY_BYTES to 1,600 bytes a chunk"),
        Limit(what="5 % of searches exceed the lexical limit of 250 ms", of="a workspace",
              chunks=costs.lexical_p95_ms.where(250.0),
              remedy="split the workspace, or raise KEBAB_LEG_LIMIT_MS"),
        Limit(what="the rebuild of a mirror takes more than an hour", of="a workspace",
              chunks=costs.rebuild_s.where(3_600.0), remedy="split the workspace"),
        Limit(what="hot data exceeds the database's memory", of="all",
              chunks=hot_gb * _GB / (_HOT * table),
              remedy="a larger database, then several installations, each with some of the workspaces"),
        Limit(what="the database's disk is full", of="all", chunks=room_gb * _GB / (table * _BLOAT),
              remedy="several installations, each with some of the workspaces"),
        Limit(what="mirrors and codes fill the disk of a search node", of="all",
              chunks=SEARCHERS[-1].most_disk_gb * _MOST_DISK * _GB / (mirror + costs.codes_bytes.rate),
              remedy="more nodes behind a proxy that hashes by workspace; KEBAB_MIRROR_LIMIT_BYTES"),
    ]  # fmt: skip
    return sorted(found, key=lambda limit: limit.chunks)


def predict(costs: Costs, chunks: float) -> dict[str, float]:
    """Return the predicted costs of a workspace with `chunks` chunks, by the names of the measured rows."""
    return {
        "tables_mb": costs.tables_bytes.at(chunks) / 1e6,
        "vector_index_mb": costs.index_at(chunks) / 1e6,
        "codes_mb": costs.codes_at(chunks) / 1e6,
        "mirror_mb": costs.mirror_bytes.at(chunks) / 1e6,
        "hybrid_p50_ms": costs.hybrid_p50_ms.at(chunks),
        "lexical_p95_ms": costs.lexical_p95_ms.at(chunks),
        "mirror_rebuild_s": costs.rebuild_s.at(chunks),
        "index_build_s": costs.index_build_s.at(chunks) if chunks > costs.scan_limit else 0.0,
    }


def read_figures(folder: Path) -> dict[str, Any]:
    """Return the figures of the growing workspace and, when their file exists, of many small workspaces."""
    measured: dict[str, Any] = json.loads((folder / "growth.json").read_text(encoding="utf-8"))
    if (tenants := folder / "tenants.json").exists():
        measured["tenants"] = json.loads(tenants.read_text(encoding="utf-8"))["tenants"]
    return measured


def main(arguments: Sequence[str]) -> int:
    """Print the model's prediction."""
    options = _parse(arguments)
    costs = Costs.of(read_figures(options.figures))
    load = Load(
        chunks=options.chunks,
        workspaces=options.workspaces,
        qps=options.qps,
        days_to_load=options.days_to_load,
        largest_share=options.largest_share,
    )
    answer = {
        "load": asdict(load),
        "machines": [asdict(fleet) for fleet in fleets(costs, load, Prices())],
        "largest_workspace": predict(costs, load.largest),
        "limits": [asdict(limit) for limit in limits(costs)],
    }
    sys.stdout.write(
        json.dumps(answer, indent=1) + "\n" if options.json else "\n".join(_lines(answer)) + "\n"
    )
    return 0


def _lines(answer: dict[str, Any]) -> list[str]:
    lines = ["machines:"]
    lines += [_machine_line(fleet) for fleet in answer["machines"]]
    lines.append(f"  ${sum(fleet['dollars'] for fleet in answer['machines']):,.0f} a month in all")
    lines.append("the largest workspace:")
    lines += [f"  {name:<18} {value:>14,.1f}" for name, value in answer["largest_workspace"].items()]
    lines.append("limits, lowest first:")
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


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--chunks", type=lambda text: int(text.replace(",", "")), required=True)
    add("--workspaces", type=lambda text: int(text.replace(",", "")), default=1)
    add("--qps", type=float, default=10.0, help="queries a second at the busiest time (10)")
    add("--days-to-load", type=float, default=7.0, help="days for the first ingestion and embedding (7)")
    add("--largest-share", type=float, default=0.0, help="share of chunks in the largest workspace (equal)")
    add("--figures", type=Path, default=_FIGURES, help="folder with the measured figures (docs/benchmarks)")
    add("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
