"""`kebab eval --beir DIR`: what retrieval is worth on a judged set."""

import signal
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.bench.figures import Latencies
from ingest.cli.bench.machine import conditions
from ingest.cli.judged_documents import Loaded, Loader, embed_all
from ingest.cli.scratch import scratch_workspace
from ingest.cli.targets import existing_path
from kebab.cli.console import plain, table
from kebab.cli.verb import BaseVerb
from kebab.people.models import Workspace
from search.cli.bars import bar, counting_bar
from search.evaluation.beir import JudgedSet, read_documents, read_judged_set
from search.evaluation.metrics import measure
from search.evaluation.record import run_record
from search.evaluation.running import Asking, ModeRun, ask_all
from search.models import Chunk
from search.retrieval.errors import InvalidQuery
from search.retrieval.types import MAX_K, Fusion, Mode

_DEPTH = 100
_MODES = tuple(Mode)


def _folder(text: str) -> Path:
    path = existing_path(text)
    if not path.is_dir():
        raise ArgumentTypeError(f"{text!r} is not a folder")
    return path


def _modes(text: str) -> tuple[Mode, ...]:
    try:
        return tuple(dict.fromkeys(Mode(name.strip()) for name in text.split(",")))
    except InvalidQuery as error:
        raise ArgumentTypeError(str(error)) from error


def _fusions(text: str) -> tuple[Fusion, ...]:
    try:
        return tuple(dict.fromkeys(Fusion(name.strip()) for name in text.split(",")))
    except InvalidQuery as error:
        raise ArgumentTypeError(str(error)) from error


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"{number} is out of range; give 1 or more")
    return number


def _depth(text: str) -> int:
    number = _number(text)
    if number > MAX_K:
        raise ArgumentTypeError(f"{number} is out of range; give 1 to {MAX_K}")
    return number


class Command(BaseVerb):
    help = "Measure retrieval on a judged set, in a workspace that is deleted after."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--beir",
            type=_folder,
            required=True,
            metavar="DIR",
            help="a set in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/test.tsv",
        )
        parser.add_argument("--modes", type=_modes, default=_MODES, help="of lexical,vector,hybrid (all)")
        parser.add_argument(
            "--fusion",
            type=_fusions,
            default=(),
            help="of rrf,convex for hybrid (what new workspaces begin with)",
        )
        parser.add_argument(
            "--k", type=_depth, default=_DEPTH, metavar="N", help=f"documents a query ({_DEPTH})"
        )
        parser.add_argument(
            "--queries", type=_number, metavar="N", help="ask only so many, spread over the set (all)"
        )

    def run_verb(self, *, beir: Path, k: int, queries: int | None, **options: Any) -> None:
        # The scratch workspace is deleted however the measurement ends.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        judged = read_judged_set(beir)
        judged = judged if queries is None else judged.sampled(queries)
        with scratch_workspace("eval") as workspace:
            loaded = self._load(workspace, judged)
            asking = Asking(topics=judged.topics, depth=k, names=loaded.names)
            runs = {
                name: self._run(workspace, judged, asking, mode, fusion)
                for name, mode, fusion in _runs(options["modes"], options["fusion"])
            }
            record = _record(workspace, judged, asking, loaded)
        if self.as_json:
            self.print_json({"schema_version": "eval.v1", "set": judged.name, "runs": runs, "record": record})
        else:
            self._show(judged, runs, loaded)

    def _load(self, workspace: Workspace, judged: JudgedSet) -> Loaded:
        with counting_bar(self.remarks, f"Loading {plain(judged.name)}", judged.documents) as advance:
            loaded = Loader(workspace).load(read_documents(judged.folder), advance)
        chunks, embedded = Chunk.objects.in_workspace(workspace).count(), 0
        with bar(self.remarks, "Embedding") as shown:

            def note(more: int) -> None:
                nonlocal embedded
                embedded += more
                shown.show(embedded, chunks)

            embed_all(workspace, note)
            shown.finish()
        return loaded

    def _run(
        self, workspace: Workspace, judged: JudgedSet, asking: Asking, mode: Mode, fusion: Fusion | None
    ) -> dict[str, Any]:
        with counting_bar(self.remarks, f"Asking, {mode} {fusion or ''}", len(asking.topics)) as advance:
            run = ask_all(workspace, asking, mode, fusion=fusion, advance=advance)
        return {**_figures(judged, run), "fusion": fusion}

    def _show(self, judged: JudgedSet, runs: Mapping[str, Mapping[str, Any]], loaded: Loaded) -> None:
        self.console.print(
            f"{plain(judged.name)}: {judged.documents:,} documents, {len(judged.topics):,} queries"
        )
        figures = [name for name, value in next(iter(runs.values())).items() if isinstance(value, float)]
        rows = [
            {"mode": mode, **{name: f"{found[name]:.4g}" for name in figures}} for mode, found in runs.items()
        ]
        self.console.print(table(("mode", *figures), rows))
        for name, why in loaded.refused.items():
            self.remarks.print(plain(f"{name} was not taken: {why}"))


def _runs(modes: Sequence[Mode], fusions: Sequence[Fusion]) -> Iterator[tuple[str, Mode, Fusion | None]]:
    """Give the runs by name: each mode once, hybrid once for each fusion and then named after it too."""
    for mode in modes:
        if mode is not Mode.HYBRID:
            yield mode.value, mode, None
        elif len(fusions) > 1:
            yield from ((f"{mode}-{fusion}", mode, fusion) for fusion in fusions)
        else:
            yield mode.value, mode, fusions[0] if fusions else None


def _figures(judged: JudgedSet, run: ModeRun) -> dict[str, Any]:
    latencies = Latencies.of(run.seconds)
    return {
        **{name: round(value, 5) for name, value in measure(judged.qrels, run.rankings).items()},
        "p50_ms": round(latencies.p50_ms, 3),
        "p95_ms": round(latencies.p95_ms, 3),
        "degraded": run.degraded,
        "index_version": run.index_version,
    }


def _record(workspace: Workspace, judged: JudgedSet, asking: Asking, loaded: Loaded) -> dict[str, Any]:
    """Give what somebody else has to know to repeat the run."""
    chunks = Chunk.objects.in_workspace(workspace).count()
    return {
        **run_record(workspace, judged),
        "k": asking.depth,
        "refused": loaded.refused,
        "machine": conditions(chunks=chunks, documents=len(loaded.names), queries=len(asking.topics)),
    }
