"""A reader who follows a page: runs its blocks in order, and compares their output with the samples."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

from tests.acceptance.documentation.sample_output import is_sample_of, wrap_output
from tests.acceptance.documentation.terminal import Failed, Terminal, is_complete
from tests.support.page_blocks import Block, blocks_of

# With this variable samples that differ are written into the pages.
_WRITES_SAMPLES = "KEBAB_WRITE_SAMPLES" in os.environ
_ADDRESSES = ("https://kebab.example.org", "https://search.example.org", "http://127.0.0.1:8000")
_SECRET = re.compile(r"\b(kbb|kbp|whsec)_[\w+/=-]{8,}")
_SERVES = re.compile(r"(?:\w+=\S+ )*(?:make|kebab) (?:up|demo)\b(?!.*once)", re.IGNORECASE)
_PASSWORD = "correct-horse-battery-9"


class Reader:
    """A reader of pages at a terminal.

    `replaced` are texts of the page with those that stand for them here.
    """

    def __init__(self, terminal: Terminal, replaced: Mapping[str, str] | None = None) -> None:
        self.terminal = terminal
        self.replaced = {
            **dict.fromkeys(_ADDRESSES, terminal.url),
            "/home/ada": str(terminal.home),
            **(replaced or {}),
        }
        #: The last secrets that were shown, by their beginning.
        self.secrets: dict[str, str] = {}
        #: How blocks of other languages are run: they take the text and return the output.
        self.runners: dict[str, Callable[[str], str]] = {"python": self._run_python}
        self.accounts = ("ann@example.org", _PASSWORD, _PASSWORD)
        #: Commands of the test's own, by the beginning of the page's command that they precede.
        self.before: dict[str, str] = {}
        self._output: str | None = None

    def follow(self, page: Path, heading: str = "") -> None:
        """Run or check each block of a page, or of its section `heading`. Raises Failed."""
        for block in blocks_of(page, heading):
            try:
                self._follow_block(block)
            except Failed as error:
                raise Failed(f"{block.place}: {error}") from None

    def type(self, command: str) -> str:
        """Run a command of the test's own, and return its output."""
        output = self.terminal.run(command)
        self._note_secrets(output)
        return output

    def write(self, files: Mapping[str, str]) -> None:
        """Write files into the home, by their paths."""
        for path, text in files.items():
            (self.terminal.home / path).parent.mkdir(exist_ok=True)
            (self.terminal.home / path).write_text(text)

    def create_account(self, email: str) -> None:
        """Create the account of an operator."""
        create = f"kebab createsuperuser --no-input --email {email}"
        self.type(f"DJANGO_SUPERUSER_PASSWORD={_PASSWORD} {create}")

    def _follow_block(self, block: Block) -> None:
        if block.use == "checked":
            _CHECKS[block.language](block.text)
        elif block.use == "run":
            if block.language == "console":
                self._follow_session(block)
            elif block.language == "sh":
                self._output = self._run_command(block.text, options="set -e")
            else:
                self._output = self.runners[block.language](self._fill(block.text))

    def _follow_session(self, block: Block) -> None:
        """Run the commands of a block; without any it is the output of the block before."""
        commands, samples = _split_session(block.text)
        if not commands:
            self._compare(block, "```console\n", samples[0], self._output or "")
        for command, sample in zip(commands, samples[1:], strict=True):
            self._output = self._run_command(command)
            if sample:
                self._compare(block, f"$ {command}\n", sample, self._output)

    def _run_command(self, command: str, options: str = "") -> str:
        for beginning, own in self.before.items():
            if command.startswith(beginning):
                self.type(own)
        script = self._fill(command)
        before, _, last = script.rstrip().rpartition("\n")
        if _SERVES.match(last):
            if before:
                self.terminal.run(before, options=options)
            self.terminal.serve(last)
            return self.terminal.served()
        output = self.terminal.run(script, options=options, answers=self._answers(script))
        self._note_secrets(output)
        return output

    def _answers(self, script: str) -> Sequence[str]:
        if "kebab createsuperuser" in script:
            return self.accounts
        return (self.secrets["kbb"],) if "kebab login" in script else ()

    def _run_python(self, text: str) -> str:
        (self.terminal.home / "example.py").write_text(text)
        return self.terminal.run("python example.py")

    def _note_secrets(self, output: str) -> None:
        for found in _SECRET.finditer(output):
            self.secrets[found[1]] = found[0]

    def _fill(self, text: str) -> str:
        """Return a text of the page with what stands for its addresses and secrets here."""
        text = self._replace(text)
        for beginning, secret in self.secrets.items():
            text = text.replace(f"{beginning}_…", secret)
        return text

    def _compare(self, block: Block, before: str, sample: str, output: str) -> None:
        if is_sample_of(self._replace(sample), output):
            return
        if not _WRITES_SAMPLES:
            raise Failed(f"the page says\n{sample}\nand the output is\n{output}")
        text = block.page.read_text(encoding="utf-8")
        text = text.replace(before + sample, before + self._as_documented(output), 1)
        block.page.write_text(text, encoding="utf-8")

    def _replace(self, text: str) -> str:
        for documented, actual in self.replaced.items():
            text = text.replace(documented, actual)
        return text

    def _as_documented(self, output: str) -> str:
        for documented, actual in self.replaced.items():
            output = output.replace(actual, documented)
        return wrap_output(_SECRET.sub(r"\1_…", output))


def _split_session(text: str) -> tuple[list[str], list[str]]:
    """Return the commands of a session, and its outputs: of what stands before them, and of each."""
    commands, outputs = [], [""]
    lines = iter(text.splitlines(keepends=True))
    for line in lines:
        if not line.startswith("$ "):
            outputs[-1] += line
            continue
        command = line[2:].rstrip("\n")
        while not is_complete(command):
            more = next(lines, None)
            if more is None:
                raise Failed(f"The command has no end: {command}")
            command += "\n" + more.rstrip("\n")
        commands.append(command)
        outputs.append("")
    return commands, outputs


def _check_html(text: str) -> None:
    if sorted(re.findall(r"<([\w-]+)", text)) != sorted(re.findall(r"</([\w-]+)>", text)):
        raise Failed(f"not all elements are closed:\n{text}")


_CHECKS: Mapping[str, Callable[[str], object]] = {
    "json": json.loads,
    "yaml": yaml.safe_load,
    "html": _check_html,
}
