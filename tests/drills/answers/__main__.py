"""Command: write docs/evaluation/injections.md (`page`), or evaluate the published questions (`measure`).

`measure --astro WORKSPACE --cpp WORKSPACE` takes workspaces with the corpora of docs/evaluation/answers.md;
answers are extractive unless a model is configured.
"""

import argparse
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

# Imports need a configured Django.
from kebab.cli.lookup import find_workspace  # noqa: E402
from kebab.people.operator import command_line_access  # noqa: E402
from kebab.stack.servers.borrowed_servers import borrow_stack  # noqa: E402
from kebab.tenancy.current_workspace import acting_everywhere  # noqa: E402
from search.answers import AnswerRequest, answer_question  # noqa: E402
from tests.drills.answers.injections_page import PAGE, page  # noqa: E402
from tests.drills.answers.questions import Question, QuestionResult, read_questions, report  # noqa: E402


def main(arguments: list[str]) -> None:
    """Run the subcommand that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills.answers")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("page")
    measuring = verbs.add_parser("measure")
    for corpus in ("astro", "cpp"):
        measuring.add_argument(f"--{corpus}", required=True, metavar="WORKSPACE")
    options = parser.parse_args(arguments)
    if options.verb == "page":
        PAGE.write_text(page(), encoding="utf-8")
        return
    with borrow_stack(), acting_everywhere():
        for line in report(_ask(each, getattr(options, each.corpus)) for each in read_questions()):
            sys.stdout.write(f"{line}\n")


def _ask(question: Question, workspace: str) -> QuestionResult:
    access = command_line_access(find_workspace(workspace))
    request = AnswerRequest(question=question.text, min_seq=access.workspace.head_seq)
    answer = answer_question(access.workspace, access.reader, request, asker=access.caller)
    first = answer.citations[0].citation.path if answer.citations else None
    return QuestionResult(question=question, state=answer.state.value, first=first)


main(sys.argv[1:])
