"""`python -m tests.evaluation collect …` makes the list of names, `measure …` asks for each of them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import django

from tests.evaluation.collect import KINDS, collect
from tests.evaluation.names import PUBLISHED, Name, read_names, write_names


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments ask for, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    collecting = verbs.add_parser("collect", help="write the list of names")
    for corpus in dict.fromkeys(kind.corpus for kind in KINDS):
        collecting.add_argument(f"--{corpus}", type=Path, required=True, metavar="FOLDER")
    measuring = verbs.add_parser("measure", help="ask for each name in the modes lexical and hybrid")
    measuring.add_argument("--workspace", required=True, metavar="SLUG")
    for verb in (collecting, measuring):
        verb.add_argument("--list", type=Path, default=PUBLISHED, metavar="FILE")
    asked = parser.parse_args(arguments)
    if asked.verb == "measure":
        return _measure(asked.workspace, read_names(asked.list))
    folders = {kind.corpus: getattr(asked, kind.corpus.replace("-", "_")) for kind in KINDS}
    write_names(collect(folders), asked.list)
    return 0


def _measure(slug: str, names: Sequence[Name]) -> int:
    django.setup()
    from kebab.people.models import Workspace
    from kebab.tenancy.acting import acting_everywhere, acting_in
    from search.retrieval.types import Mode
    from tests.evaluation.measure import ask_names, share_found

    with acting_everywhere():
        workspace = Workspace.objects.get(slug=slug)
    for mode in (Mode.LEXICAL, Mode.HYBRID):
        with acting_in(workspace.pk):
            asked = ask_names(workspace, names, mode)
        missed = ", ".join(f"{one.name.query} ({one.place or '-'})" for one in asked if not one.is_found)
        print(f"{mode}: {share_found(asked):.1%} of {len(asked)}; missed: {missed or 'none'}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
