"""Fenced blocks of the pages that readers follow, and what tests do with each."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

#: Pages whose blocks tests run: one test each in tests/acceptance/documentation, and deploy for own servers.
FOLLOWED_PAGES = tuple(
    ROOT / path
    for path in (
        "README.md",
        "docs/first-steps.md",
        "docs/command-line.md",
        "docs/searching.md",
        "docs/integrations.md",
        "docs/notifications.md",
        "docs/bundles.md",
        "docs/operations/backup.md",
        "docs/operations/nodes.md",
        "docs/operations/own-servers.md",
    )
)
_DATA = frozenset({"json", "yaml", "html"})
_RUN = frozenset({"console", "sh", "python", "sql"})
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+?) -->\n\n?)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page; `reason` says why it is not run."""

    page: Path
    heading: str
    line: int
    language: str
    text: str
    reason: str

    @property
    def use(self) -> str:
        """Return what a test does with it: `run`, `checked` (read as data) or `not run`."""
        if self.reason:
            return "not run"
        return "checked" if self.language in _DATA else "run"

    @property
    def place(self) -> str:
        """Return the page and the line of the block."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path, heading: str = "") -> list[Block]:
    """Return the fenced blocks of a page in order, or of its section with this heading."""
    text = page.read_text(encoding="utf-8")
    blocks = [
        Block(
            page=page,
            heading=text[: found.start()].rpartition("\n##")[2].partition("\n")[0].lstrip("# "),
            line=text.count("\n", 0, found.start("text")) + 1,
            language=found["language"],
            text=found["text"],
            reason=found["reason"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]
    return [block for block in blocks if heading in ("", block.heading)]


def has_known_language(block: Block) -> bool:
    """Return whether tests can use a block, or its page says why they don't."""
    return bool(block.reason) or block.language in _RUN | _DATA
