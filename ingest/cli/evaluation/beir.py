"""`kebab eval --beir DIR`: retrieval quality on a judged set."""

import argparse
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ingest.cli.evaluation.subcommands import depth, fusions, modes, named_runs, number
from ingest.cli.judged_documents import Loader, LoadResult, embed_all
from ingest.cli.scratch import scratch_workspace
from kebab.cli.client.ingest_targets import existing_folder
from kebab.cli.command import KebabCommand
from kebab.cli.output import plain, table
from kebab.cli.progress_bars import bar, counting_bar
from kebab.identity.models import Workspace
from search.evaluation.beir import JudgedSet, read_documents, read_judged_set, topics_of_set
from search.evaluation.judged import DocumentName
from search.evaluation.metrics import BEIR_MEASURES
from search.evaluation.record import describe_machine, run_record
from search.evaluation.results import RunResult
from search.evaluation.run_topics import evaluate
from search.evaluation.settings import RunSettings
from search.models import Chunk
from search.retrieval.types import Mode, SearchHit

_DEPTH = 100
_MODES = tuple(Mode)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a judged set to a parser."""
    parser.add_argument(
        "--beir",
        type=existing_folder,
        metavar="DIR",
        help="a set in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/test.tsv",
    )
    parser.add_argument("--modes", type=modes, default=_MODES, help="of lexical,vector,hybrid (all)")
    parser.add_argument(
        "--fusion", type=fusions, default=(), help="of rrf,convex for hybrid (what new workspaces begin with)"
    )
    parser.add_argument("--k", type=depth, default=_DEPTH, metavar="N", help=f"documents a query ({_DEPTH})")
    parser.add_argument(
        "--queries", type=number, metavar="N", help="ask only so many, spread over the set (all)"
    )


class JudgedSetRuns:
    """Evaluation of a judged set in each mode, in a scratch workspace."""

    def __init__(self, command: KebabCommand) -> None:
        self._command = command

    def run(self, folder: Path, *, k: int, queries: int | None, **options: Any) -> None:
        """Evaluate the set in `folder` and print the figures."""
        # The scratch workspace is deleted also when the measurement is interrupted.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        judged = read_judged_set(folder)
        judged = judged if queries is None else judged.sample(queries)
        with scratch_workspace("eval") as workspace:
            loaded = self._load(workspace, judged)
            runs = {
                name: self._run(
                    workspace, judged, loaded, RunSettings.of({"mode": mode, "fusion": fusion, "k": k})
                )
                for name, mode, fusion in named_runs(options["modes"], options["fusion"])
            }
            record = _record(workspace, judged, loaded, k)
        if self._command.as_json:
            self._command.print_json(
                {"schema_version": "eval.v1", "set": judged.name, "runs": runs, "record": record}
            )
        else:
            self._show(judged, runs, loaded)

    def _load(self, workspace: Workspace, judged: JudgedSet) -> LoadResult:
        with counting_bar(
            self._command.remarks, f"Loading {plain(judged.name)}", judged.documents
        ) as advance:
            loaded = Loader(workspace).load(read_documents(judged.folder), advance)
        chunks, embedded = Chunk.objects.in_workspace(workspace).count(), 0
        with bar(self._command.remarks, "Embedding") as progress:

            def advance_by(more: int) -> None:
                nonlocal embedded
                embedded += more
                progress.show(embedded, chunks)

            embed_all(workspace, advance_by, judged.topics.values())
            progress.finish()
        return loaded

    def _run(
        self, workspace: Workspace, judged: JudgedSet, loaded: LoadResult, settings: RunSettings
    ) -> dict[str, Any]:
        fusion = settings.preferences.get("fusion")

        def document_of(hit: SearchHit) -> DocumentName:
            return DocumentName(path=loaded.names[hit.doc_id])

        title = f"Asking, {settings.mode} {fusion or ''}"
        with counting_bar(self._command.remarks, title, len(judged.topics)) as advance:
            run = evaluate(
                workspace,
                topics_of_set(judged),
                settings,
                measures=BEIR_MEASURES,
                advance=advance,
                document_of=document_of,
            )
        return {**_figures(run), "fusion": fusion}

    def _show(self, judged: JudgedSet, runs: Mapping[str, Mapping[str, Any]], loaded: LoadResult) -> None:
        self._command.console.print(
            f"{plain(judged.name)}: {judged.documents:,} documents, {len(judged.topics):,} queries"
        )
        figures = [name for name, value in next(iter(runs.values())).items() if isinstance(value, float)]
        rows = [
            {"mode": mode, **{name: f"{found[name]:.4g}" for name in figures}} for mode, found in runs.items()
        ]
        self._command.console.print(table(("mode", *figures), rows))
        for name, why in loaded.refused.items():
            self._command.remarks.print(plain(f"{name} was not taken: {why}"))


def _figures(run: RunResult) -> dict[str, Any]:
    latencies = run.latencies
    return {
        **{name: round(run.means[name] or 0.0, 5) for name in BEIR_MEASURES},
        "p50_ms": round(latencies.p50_ms, 3),
        "p95_ms": round(latencies.p95_ms, 3),
        "degraded": run.degradation_counts,
        "index_version": run.index_version,
    }


def _record(workspace: Workspace, judged: JudgedSet, loaded: LoadResult, k: int) -> dict[str, Any]:
    """Return the conditions needed to repeat the run."""
    chunks = Chunk.objects.in_workspace(workspace).count()
    return {
        **run_record(workspace, judged),
        "k": k,
        "refused": loaded.refused,
        "machine": {
            **describe_machine(),
            "documents": len(loaded.names),
            "chunks": chunks,
            "queries": len(judged.topics),
        },
    }
