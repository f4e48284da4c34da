"""`kebab ask QUESTION`."""

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from kebab.cli.client.arguments import add_filters, add_workspace, filters_of
from kebab.cli.client.commands.search import missing_parts
from kebab.cli.client.connection import ApiProblem, Connection, Needs, Response
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.output import plain
from kebab.exit_codes import Exit

NEEDS: Needs = "servers"
EXAMPLES = (
    'kebab ask "how many days of vacation do I have?"',
    'kebab ask "and how many carry over?" --conversation ID',
)
_CODES = {"refused": Exit.NOTHING, "failed": Exit.ERROR}
_REASONS = {
    "no_chunks": "Nothing was found.",
    "score_gate": "What was found scores below the workspace's score_gate.",
    "not_covered": "The documents don't say enough of what the question is about.",
    "empty": "The model wrote nothing.",
    "no_marker": "The model cites no passage, so nothing of it can be checked.",
    "unknown_marker": "The model cites a passage that it was not given; don't rely on it.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("question")
    add_workspace(parser)
    parser.add_argument("--conversation", metavar="ID", help="go on with this conversation of yours")
    parser.add_argument("--mode", choices=("hybrid", "lexical", "vector"), help="default: hybrid")
    parser.add_argument("-k", type=int, metavar="N", help="answer from at most N hits")
    parser.add_argument("--recency", type=float, metavar="S", help="0 to 1: what age takes from a score")
    add_filters(parser)


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Ask, print the answer as it arrives, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    given = {"conversation_id": options["conversation"]}
    given |= {name: options[name] for name in ("mode", "k", "recency")}
    body = {
        "question": options["question"],
        "filters": filters_of(options),
        "min_seq": workspace.facts["seq"],
        **{name: value for name, value in given.items() if value is not None},
    }
    if terminal.as_json:
        answer = workspace.post("/ask", body)
        terminal.document(answer)
    else:
        answer = _stream(connection, workspace.address("/ask"), body, terminal)
        _print(terminal, answer)
    return _CODES.get(answer["state"], Exit.DONE)


def _stream(connection: Connection, path: str, body: Any, terminal: Terminal) -> dict[str, Any]:
    """Print the pieces of an answer, and return the whole."""
    sent = json.dumps(body).encode()
    response = connection.send("POST", path, sent, "application/json", Accept="text/event-stream")
    answer: dict[str, Any] = {}
    for event, document in _events(response):
        if event == "token":
            terminal.print(plain(document["text"]), end="")
        elif event == "final":
            answer = document
        elif event == "error":
            raise ApiProblem(document.get("status", 500), document)
    return answer


def _events(response: Response) -> Iterator[tuple[str, Any]]:
    """Yield the events of a stream, each with its JSON document."""
    event, data = "", ""
    for line in response.body:
        name, _, value = line.decode().rstrip("\r\n").partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            data += value
        elif not name and data:
            yield event, json.loads(data)
            event, data = "", ""


def _print(terminal: Terminal, answer: Mapping[str, Any]) -> None:
    if answer["text"]:
        terminal.print("\n")
    for citation in answer["citations"]:
        place = " ".join(filter(None, (citation["source"], citation["version"])))
        about = terminal.style(plain(f"  {place}, {citation['trust_level']}"), "dim")
        terminal.print(f"[#{citation['n']}] {terminal.style(plain(citation['uri']), 'cyan')}{about}")
        below = " > ".join(citation["heading_path"]) or citation["title"]
        terminal.print("     " + terminal.style(plain(below), "dim"))
    if answer["state"] == "extractive":
        terminal.remark("These are the documents' own sentences: no model is configured.")
    if answer["reason"] in _REASONS:
        terminal.remark(_REASONS[answer["reason"]])
    for sentence in (*missing_parts(answer), *answer["warnings"]):
        terminal.remark(sentence)
    conversation = answer["conversation_id"]
    terminal.remark(f"{answer['state']} in {answer['took_ms']:,.0f} ms; conversation {conversation}")
