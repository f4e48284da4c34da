"""Wording of the most frequent output on the command line, in one snapshot.

With KEBAB_WRITE_SNAPSHOTS=1 the test writes `wording.txt` anew.
"""

import os
import re
from pathlib import Path

from search.models import Source, SourceVersion
from tests.cli.commands import run
from tests.support.api import quarantine
from tests.support.corpus import make_workspace, write

SNAPSHOT = Path(__file__).with_name("wording.txt")
COMMANDS = (
    "search apple --mode lexical",
    "search zebra --mode lexical",
    "search apple --mode lexical --path-glob [",
    "search --cursor 00",
    "search apple --workspace nowhere",
    "ask zebra",
    "list sources",
    "list quarantine",
    "api DELETE /workspaces/{ws}/quarantine/0",
    "source restrict docs --open",
    "source restrict docs --to",
    "source restrict missing --open",
    "source test docs",
    "inspect doc missing.md",
    "ingest /nowhere/at/all",
    "ingest https://user:secret@example.org/",
)


def command_output(arguments, entry):
    """Return a command's exit code and output, without what differs from run to run."""
    code, out, err = run(*arguments)
    for pattern, shown in (
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
        (r"\d{4}-\d\d-\d\d[T ][\d:.]+\S*", "TIME"),
        (r"\b[\d.]+ ms", "N ms"),
        (r"corpus-\d+", "WORKSPACE"),
        (rf"(?m)^{entry.pk} +docs", "ENTRY  docs"),
        (r"(?<=\S)  +", "  "),
        (r" +\n", "\n"),
    ):
        out, err = re.sub(pattern, shown, out), re.sub(pattern, shown, err)
    return f"[{code}]\n{out}{err}"


def test_wording_of_common_commands(workspace):
    write(workspace, "a.md", "apple pear", tags=("fruit",), trust_level="primary")
    entry = quarantine(workspace, SourceVersion.objects.in_workspace(workspace).get(), "bomb.md")
    Source.objects.update(default_tags=["fruit"])
    commands = {text: [*text.split(), ""] if text.endswith("--to") else text.split() for text in COMMANDS}
    texts = [f"$ kebab {text}\n{command_output(arguments, entry)}" for text, arguments in commands.items()]
    make_workspace()
    texts.append(f"$ kebab search apple  # with two workspaces\n{command_output(['search', 'apple'], entry)}")
    text = "\n".join(texts)
    if os.environ.get("KEBAB_WRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(text)
    assert text == SNAPSHOT.read_text()
