"""Command: write docs/evaluation/injections.md (`page`), or evaluate published questions.

`measure --astro WORKSPACE --cpp WORKSPACE` takes workspaces with the corpora of docs/evaluation/answers.md.
`beginnings` asks questions of the made-up handbook behind greetings, reasons, background and pasted logs;
`--workspace` has the handbook. `conversations` holds conversations about made-up documents in a scratch
workspace. Answers are extractive unless a model is configured.
"""

import argparse
import os
import sys
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

# Imports need a configured Django.
from ingest.cli.scratch import scratch_workspace  # noqa: E402
from kebab.cli.lookup import find_workspace  # noqa: E402
from kebab.identity.caller import Access  # noqa: E402
from kebab.people.operator import command_line_access  # noqa: E402
from kebab.stack.servers.borrowed_servers import borrow_stack  # noqa: E402
from kebab.tenancy.current_workspace import acting_everywhere  # noqa: E402
from search.answers import AnswerRequest, answer_question  # noqa: E402
from search.answers.conversation import find_conversation, find_in_conversation  # noqa: E402
from search.answers.passages import EXTRACTIVE_TOKENS  # noqa: E402
from tests.drills.answers.beginnings import Asked, ask_beginnings, beginning_lines  # noqa: E402
from tests.drills.answers.conversations import (  # noqa: E402
    Turn,
    TurnResult,
    ask_conversations,
    conversation_lines,
    write_documents,
)
from tests.drills.answers.injections_page import PAGE, page  # noqa: E402
from tests.drills.answers.questions import Question, QuestionResult, read_questions, report  # noqa: E402
from tests.drills.evaluation.handbook import load  # noqa: E402


def main(arguments: list[str]) -> None:
    """Run the subcommand that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills.answers")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("page")
    measuring = verbs.add_parser("measure")
    for corpus in ("astro", "cpp"):
        measuring.add_argument(f"--{corpus}", required=True, metavar="WORKSPACE")
    verbs.add_parser("conversations")
    verbs.add_parser("beginnings").add_argument("--workspace", required=True)
    options = parser.parse_args(arguments)
    if options.verb == "page":
        PAGE.write_text(page(), encoding="utf-8")
        return
    with borrow_stack(), acting_everywhere():
        for line in _measure(options):
            sys.stdout.write(f"{line}\n")


def _measure(options: argparse.Namespace) -> Iterable[str]:
    if options.verb == "beginnings":
        return beginning_lines(list(ask_beginnings(lambda text: _ask_plainly(text, options.workspace))))
    if options.verb == "conversations":
        return _measure_conversations()
    return report(_ask(each, getattr(options, each.corpus)) for each in read_questions())


def _measure_conversations() -> Iterable[str]:
    with scratch_workspace("conversations") as workspace, tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder))
        load(workspace, Path(folder))
        access = command_line_access(workspace)
        return list(conversation_lines(list(ask_conversations(lambda: _Talk(access)))))


class _Talk:
    """A conversation that goes on with each turn."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._id: uuid.UUID | None = None

    def __call__(self, turn: Turn) -> TurnResult:
        access, workspace = self._access, self._access.workspace
        request = AnswerRequest(question=turn.question, conversation_id=self._id, min_seq=workspace.head_seq)
        conversation = find_conversation(workspace, access.reader, access.caller, self._id)
        found = find_in_conversation(
            workspace, access.reader, request, conversation, tokens=EXTRACTIVE_TOKENS
        )
        answer = answer_question(workspace, access.reader, request, asker=access.caller)
        self._id = answer.conversation_id
        return TurnResult(
            turn=turn,
            carried_subject=bool(found.question.subject),
            path=answer.citations[0].citation.path if answer.citations else None,
            text=answer.text,
        )


def _ask(question: Question, workspace: str) -> QuestionResult:
    state, first = _answer(question.text, workspace)
    return QuestionResult(question=question, state=state, first=first)


def _ask_plainly(text: str, workspace: str) -> Asked:
    state, first = _answer(text, workspace)
    return Asked(is_answered=state == "extractive", first=first)


def _answer(text: str, workspace: str) -> tuple[str, str | None]:
    access = command_line_access(find_workspace(workspace))
    request = AnswerRequest(question=text, min_seq=access.workspace.head_seq)
    answer = answer_question(access.workspace, access.reader, request, asker=access.caller)
    return answer.state.value, answer.citations[0].citation.path if answer.citations else None


main(sys.argv[1:])
