"""`python -m tests.drills.evaluation collect …` writes the list of names, `measure …` searches for them.

`code …` asks the questions on a code base that a workspace contains. `handbook` asks the queries of the
made-up handbook in a scratch workspace, and types its titles. `floor …` asks those of judged sets, and
`scores …` those of the handbook and of judged sets.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests.drills.evaluation.code_questions import CodeQuestion, read_questions
from tests.drills.evaluation.collect import KINDS, collect
from tests.drills.evaluation.names import PUBLISHED, Name, read_names, write_names

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")

if TYPE_CHECKING:
    from tests.drills.evaluation.code_retrieval import Way

# Questions of each other set.
_FOREIGN = 40


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand that the arguments name, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills.evaluation", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    collecting = verbs.add_parser("collect", help="write the list of names")
    for corpus in dict.fromkeys(kind.corpus for kind in KINDS):
        collecting.add_argument(f"--{corpus}", type=Path, required=True, metavar="FOLDER")
    measuring = verbs.add_parser("measure", help="search for each name in the modes lexical and hybrid")
    measuring.add_argument("--workspace", required=True, metavar="SLUG")
    for verb in (collecting, measuring):
        verb.add_argument("--list", type=Path, default=PUBLISHED, metavar="FILE")
    coding = verbs.add_parser("code", help="ask the questions on one repository of the list")
    coding.add_argument("--workspace", required=True, metavar="SLUG")
    coding.add_argument("--repository", required=True, metavar="NAME")
    coding.add_argument("--without-terms", action="store_true", help="ask the questions without their terms")
    coding.add_argument("--root", type=Path, metavar="FOLDER", help="folder of the repository, for ripgrep")
    verbs.add_parser("handbook", help="ask the queries of the made-up handbook, and type its titles")
    flooring = verbs.add_parser("floor", help="measure what falls below the floor, on judged sets")
    flooring.add_argument("sets", type=Path, nargs="+", metavar="FOLDER", help="a set in BEIR's layout")
    flooring.add_argument("--queries", type=int, default=400, metavar="N", help="of each set (400)")
    scoring = verbs.add_parser(
        "scores", help="measure what thresholds of scores keep, on the handbook and sets"
    )
    scoring.add_argument("sets", type=Path, nargs="*", metavar="FOLDER", help="a set in BEIR's layout")
    scoring.add_argument("--queries", type=int, default=150, metavar="N", help="of each set (150)")
    options = parser.parse_args(arguments)
    if options.verb == "handbook":
        return _measure_handbook()
    if options.verb == "floor":
        return _measure_floor(options.sets, options.queries)
    if options.verb == "scores":
        return _measure_scores(options.sets, options.queries)
    if options.verb == "code":
        return _measure_code(options)
    if options.verb == "measure":
        return _measure(options.workspace, read_names(options.list))
    folders = {kind.corpus: getattr(options, kind.corpus.replace("-", "_")) for kind in KINDS}
    write_names(collect(folders), options.list)
    return 0


def _measure(slug: str, names: Sequence[Name]) -> int:
    django.setup()
    from kebab.identity.models import Workspace
    from kebab.tenancy.current_workspace import acting_everywhere, acting_in
    from search.retrieval.types import Mode
    from tests.drills.evaluation.measure import ask_names, share_found

    with acting_everywhere():
        workspace = Workspace.objects.get(slug=slug)
    for mode in (Mode.LEXICAL, Mode.HYBRID):
        with acting_in(workspace.pk):
            results = ask_names(workspace, names, mode)
        missed = ", ".join(f"{one.name.query} ({one.place or '-'})" for one in results if not one.is_found)
        print(f"{mode}: {share_found(results):.1%} of {len(results)}; missed: {missed or 'none'}")  # noqa: T201
    return 0


def _measure_floor(folders: Sequence[Path], queries: int) -> int:
    django.setup()
    from kebab.stack.servers.borrowed_servers import borrow_stack
    from kebab.tenancy.current_workspace import acting_everywhere
    from search.evaluation.beir import read_judged_set
    from tests.drills.evaluation.floor import HEADER, measure_floor

    sets = [read_judged_set(folder).sample(queries) for folder in folders]
    print(HEADER)  # noqa: T201
    with borrow_stack(), acting_everywhere():
        for judged in sets:
            for row in measure_floor(judged, sets):
                print(row, flush=True)  # noqa: T201
    return 0


def _measure_scores(folders: Sequence[Path], queries: int) -> int:
    django.setup()
    from kebab.stack.servers.borrowed_servers import borrow_stack
    from kebab.tenancy.current_workspace import acting_everywhere
    from search.evaluation.beir import read_judged_set
    from tests.drills.evaluation.scores import HEADER, measure_handbook, measure_set

    sets = [read_judged_set(folder).sample(queries) for folder in folders]
    foreign = [judged.sample(_FOREIGN) for judged in sets]
    print(HEADER)  # noqa: T201
    with borrow_stack(), acting_everywhere():
        for rows in (measure_handbook(foreign), *(measure_set(judged, foreign) for judged in sets)):
            for row in rows:
                print(row, flush=True)  # noqa: T201
    return 0


def _measure_code(options: argparse.Namespace) -> int:
    django.setup()
    from kebab.identity.models import Workspace
    from kebab.tenancy.current_workspace import acting_everywhere, acting_in
    from search.context import ResponseMode
    from tests.drills.evaluation.code_retrieval import by_pack, by_ripgrep, by_search, by_tool

    with acting_everywhere():
        workspace = Workspace.objects.get(slug=options.workspace)
    questions = read_questions(options.repository)
    if options.without_terms:
        questions = [replace(each, terms=()) for each in questions]
    with acting_in(workspace.pk), by_tool(workspace) as ask_tool:
        ways = {
            "codebase-retrieval": ask_tool,
            "its pack": by_pack(workspace),
            "its overview": by_pack(workspace, ResponseMode.OVERVIEW),
            "hybrid search": by_search(workspace),
        }
        if options.root is not None:
            ways["ripgrep"] = by_ripgrep(options.root)
        for name, ask in ways.items():
            print(f"{name}: {_summary(ask, questions)}")  # noqa: T201
    return 0


def _measure_handbook() -> int:
    django.setup()
    from ingest.cli.scratch import scratch_workspace
    from kebab.stack.servers.borrowed_servers import borrow_stack
    from kebab.tenancy.current_workspace import acting_everywhere
    from tests.drills.evaluation import handbook

    with borrow_stack(), acting_everywhere(), scratch_workspace("handbook") as workspace:
        handbook.load(workspace)
        results = handbook.ask_queries(workspace, handbook.read_queries())
        typed = list(handbook.type_titles(workspace))
        for line in (*handbook.query_lines(results), *handbook.typing_lines(typed)):
            print(line)  # noqa: T201
    return 0


def _summary(ask: "Way", questions: Sequence[CodeQuestion]) -> str:
    """Return hits, files and time of a retrieval way, and the questions without a right file."""
    started = time.perf_counter()
    retrieved = [ask(each) for each in questions]
    took_ms = (time.perf_counter() - started) * 1000 / len(questions)
    pairs = list(zip(questions, retrieved, strict=True))
    missed = [each.question for each, paths in pairs if not set(each.paths) & set(paths)]
    first = sum(bool(set(each.paths) & set(paths[:1])) for each, paths in pairs)
    count = sum(map(len, retrieved)) / len(retrieved)
    found = len(questions) - len(missed)
    return (
        f"{found} of {len(questions)}, first {first}, {count:.1f} files, {took_ms:.0f} ms; missed: {missed}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
