"""Page of a folder of measurements: the latest figures of each kind, with plots and conditions.

Each kind of run stores its figures in a file of its own, so that the page can be generated again when one
of them is measured again.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.drills.bench.peers.registry import installed_version
from tests.drills.bench.report.tables import budget_lines, growth_lines, peer_lines, tenant_lines

#: The files of figures, by key of a `bench.v1`.
FILES: Final = {
    "figures": "budgets.json",
    "peers": "peers.json",
    "growth": "growth.json",
    "tenants": "tenants.json",
}
_SECTIONS: Final[Mapping[str, tuple[str, Callable[[Any], Iterator[str]]]]] = {
    "figures": ("Budgets", budget_lines),
    "peers": ("Beside what a team could pick", peer_lines),
    "growth": ("How cost grows", growth_lines),
    "tenants": ("Many small workspaces", tenant_lines),
}
_PAGE = "README.md"
_HEAD = """# Benchmarks

Made by `python -m tests.drills.bench --report docs/benchmarks …` ([how](method.md)); the figures are in the
JSON files beside this page. Absolute figures vary between machines: compare ratios, which come from one run,
on one machine, by turns.
"""


def write_report(folder: Path, document: Mapping[str, Any]) -> list[str]:
    """Store the figures of `document`, a `bench.v1`, and generate page and plots of all figures in `folder`.

    Return messages about the written files. Plots need matplotlib (deploy/requirements-peers.txt).
    """
    folder.mkdir(parents=True, exist_ok=True)
    for kind in FILES:
        if document.get(kind):
            _store(folder / FILES[kind], kind, document)
    known = {kind: _read(folder / name) for kind, name in FILES.items()}
    plots, messages = _draw_plots(folder, known)
    sections = [_HEAD, *_sections(known, plots)]
    (folder / _PAGE).write_text("\n".join(sections), encoding="utf-8")
    return [*messages, f"Wrote {folder / _PAGE}."]


def _store(path: Path, kind: str, document: Mapping[str, Any]) -> None:
    """Write the figures of a kind; keep figures of peers that this run did not measure."""
    figures = {"conditions": document["conditions"], kind: document[kind]}
    before = _read(path)
    if kind == "peers" and before is not None:
        figures["peers"] = _merge(before["peers"], document["peers"])
        if not document["peers"]["speed"]:
            figures["conditions"] = before["conditions"]
    path.write_text(
        json.dumps(figures, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )


def _merge(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    judged_now = {row["set"] for row in now["quality"]}
    return {
        "speed": now["speed"] or before["speed"],
        "http": now["http"] or before["http"],
        "quality": [row for row in before["quality"] if row["set"] not in judged_now] + now["quality"],
        "skipped": now["skipped"] if now["speed"] else before["skipped"],
    }


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
    except FileNotFoundError:
        return None


def _draw_plots(folder: Path, known: Mapping[str, Any]) -> tuple[dict[str, list[str]], list[str]]:
    """Draw the plots, and return their names by kind and messages about them."""
    if installed_version("matplotlib") is None:
        return {}, ["matplotlib is not installed (deploy/requirements-peers.txt): no plots."]
    from tests.drills.bench.report import plots

    return {kind: plots.draw(folder, kind, found) for kind, found in known.items() if found is not None}, []


def _sections(known: Mapping[str, Any], plots: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for kind, (title, lines) in _SECTIONS.items():
        found = known[kind]
        if found is None:
            continue
        yield f"## {title}\n"
        yield from (f"![{name.removesuffix('.svg')}]({name})\n" for name in plots.get(kind, ()))
        yield from lines(found[kind])
        yield _conditions(found["conditions"])


def _conditions(conditions: Mapping[str, Any]) -> str:
    named = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in conditions.items() if value)
    return f"Conditions: {named}.\n"
