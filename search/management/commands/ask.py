"""The command `kebab ask QUESTION`."""

from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.parser import add_workspace
from kebab.people.operator import command_line_access
from kebab.uuids import parse_uuid
from search.answers import MAX_HITS, Answer, AnswerState, Finished, TextAdded, answer_events
from search.answers.wire import answer_to_wire
from search.api.answers.serializers import answer_request
from search.cli.answers import answer_remarks, print_citations, print_piece
from search.cli.filters import add_filters, filters_from_options
from search.retrieval.types import Mode

_CODES = {AnswerState.REFUSED: Exit.NOTHING, AnswerState.FAILED: Exit.ERROR}


class Command(KebabCommand):
    help = "Answer a question from the documents of a workspace, with citations, as it is written."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("question")
        add_workspace(parser)
        parser.add_argument("--conversation", metavar="ID", help="go on with this conversation of yours")
        parser.add_argument("--mode", choices=[mode.value for mode in Mode], help="default: hybrid")
        parser.add_argument("-k", type=int, metavar="N", help=f"answer from at most N hits, up to {MAX_HITS}")
        add_filters(parser)

    def run_command(self, *, workspace: str | None, **options: Any) -> int:
        access = command_line_access(self.act_in(find_workspace(workspace)))
        # No mirror follower has to run: this process waits until the mirror has all that is committed now.
        given = _request_fields(options) | {"min_seq": access.workspace.head_seq}
        request = answer_request(access.workspace, given)
        code = Exit.DONE
        for event in answer_events(access.workspace, access.reader, request, asker=access.caller):
            if isinstance(event, TextAdded) and not self.as_json:
                print_piece(self.console, event.text)
            if isinstance(event, Finished):
                self._show(event.answer)
                code = _CODES.get(event.answer.state, Exit.DONE)
        return code

    def _show(self, answer: Answer) -> None:
        if self.as_json:
            self.print_json(answer_to_wire(answer))
            return
        if answer.text:
            self.console.print("\n")
        print_citations(self.console, answer)
        for sentence in answer_remarks(answer):
            self.remarks.print(sentence, soft_wrap=True)


def _request_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the equivalent HTTP API request. Raises CliError."""
    given = {"question": options["question"], "filters": filters_from_options(options)}
    given |= {name: options[name] for name in ("mode", "k") if options[name] is not None}
    conversation = options["conversation"]
    if conversation is None:
        return given
    conversation_id = parse_uuid(conversation)
    if conversation_id is None:
        raise CliError(f"{conversation[:40]!r} is no id; copy the one that an answer ends with.")
    return given | {"conversation_id": conversation_id}
