"""`kebab context REQUEST`."""

import argparse
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kebab.cli.client.arguments import add_filters, add_workspace, filters_of
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.output import plain
from kebab.exit_codes import Exit

NEEDS: Needs = "servers"
EXAMPLES = (
    'kebab context "where is the retry policy of uploads decided"',
    'kebab context "how are cursors signed" --term Signer --tokens 4000',
)
_BUDGET_TOKENS = 8_000
_BACKTICKS = re.compile("`{3,}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("request", metavar="REQUEST", help="what is to be known, in plain words")
    parser.add_argument(
        "--term", action="append", default=[], metavar="T", help="a name that the answer is likely to hold"
    )
    add_workspace(parser)
    parser.add_argument(
        "--tokens", type=int, default=_BUDGET_TOKENS, metavar="N", help=f"the budget ({_BUDGET_TOKENS:,})"
    )
    parser.add_argument("--overview", action="store_true", help="list files and names before the text")
    parser.add_argument("--passages", action="store_true", help="rank passages, not files")
    add_filters(parser)


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Gather the pack, print it, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    body = {
        "information_request": options["request"],
        "technical_terms": options["term"],
        "budget": {"tokens": options["tokens"]},
        "by_file": not options["passages"],
        "response_mode": "overview" if options["overview"] else "text",
        "cutoff": True,
        "filters": filters_of(options),
        "min_seq": workspace.facts["seq"],
    }
    pack = workspace.post("/context-pack", body)
    if terminal.as_json:
        terminal.document(pack)
    else:
        terminal.print(plain("\n\n".join(_blocks(pack)) or "Nothing was found for this request."))
        budget = pack["budget"]
        used = f"{budget['used']:,} of {budget['total']:,} {budget['unit']}"
        terminal.remark(f"{used} in {pack['took_ms']:.0f} ms.")
        for sentence in pack["warnings"]:
            terminal.remark(sentence)
    return Exit.DONE if pack["files"] else Exit.NOTHING


def _blocks(pack: Mapping[str, Any]) -> Iterator[str]:
    """Yield the overview of each file, then each segment fenced, below its citation."""
    overview = pack["overview"]["files"] if pack["overview"] else []
    if overview:
        yield "## Overview"
    for file in overview:
        origin = " ".join(filter(None, (file["code_lang"], f"in {file['source']}", file["version"])))
        more = [f"  … {file['symbols_left_out']} more"] if file["symbols_left_out"] else []
        yield "\n".join((f"{_line(file['doc_path'])} ({origin})", *map(_symbol, file["symbols"]), *more))
    for file in pack["files"]:
        origin = " ".join(filter(None, (file["source"], file["version"])))
        for segment in file["segments"]:
            text = segment["text"]
            fence = "`" * (max(map(len, _BACKTICKS.findall(text)), default=2) + 1)
            cited = f"### {_line(segment['citation']['uri'])} ({origin})"
            yield f"{cited}\n{fence}{segment['code_lang'] or ''}\n{text}\n{fence}"


def _symbol(symbol: Mapping[str, Any]) -> str:
    start, end = symbol["citation"]["start"], symbol["citation"]["end"]
    lines = f"{start}-{end} " if start is not None else ""
    return f"  {lines}{_line(' > '.join(symbol['heading_path']))}"


def _line(text: str) -> str:
    return " ".join(text.split())
