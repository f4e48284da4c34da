"""Text of any amount: a folder's own documents, then documents recombined from them.

A recombined document has the title of one real document and paragraphs of others, drawn evenly over all
paragraphs of the folder, a heading before every fourth. So word frequencies and co-occurrences within
paragraphs are those of the folder, while no document occurs twice. The draw depends on the document's
number and a fixed seed.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from kebab.cli.errors import CliError

#: Suffixes of the files that are read.
SUFFIXES: Final = (".md", ".mdx", ".markdown", ".rst", ".txt")

_SEED = 1
_PARAGRAPHS = 16
_HEADED = 4
_SHORTEST_CHARS, _LONGEST_CHARS = 40, 4_000
_FILES_A_FOLDER = 500


@dataclass(frozen=True)
class GrowingText:
    """Endless documents of a folder, in an order drawn by a fixed seed."""

    folder: Path

    def documents(self) -> Iterator[str]:
        """Yield the real documents, then recombined ones. Raises CliError for a folder without text."""
        order = list(self._real)
        random.Random(_SEED).shuffle(order)
        yield from order
        number = 0
        while True:
            yield self.recombine(number)
            number += 1

    @property
    def real(self) -> int:
        """Return the number of the folder's own documents."""
        return len(self._real)

    def recombine(self, number: int) -> str:
        """Return the recombined document `number`, always the same."""
        drawn = random.Random(f"{_SEED}:{number}")
        blocks = [f"# {drawn.choice(self._titles)}"]
        for place in range(_PARAGRAPHS):
            if place % _HEADED == 0:
                blocks.append(f"## {drawn.choice(self._titles)}")
            blocks.append(drawn.choice(self._paragraphs))
        return "\n\n".join(blocks) + "\n"

    def passage(self, number: int) -> tuple[str, str]:
        """Return the title and the one paragraph of the short document `number`, always the same."""
        drawn = random.Random(f"{_SEED}:{number}")
        return drawn.choice(self._titles), drawn.choice(self._paragraphs)

    @cached_property
    def _real(self) -> list[str]:
        paths = sorted(path for path in self.folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
        texts = [text for path in paths if (text := path.read_text("utf-8", "replace")).strip()]
        if not texts:
            raise CliError(
                f"{self.folder} has no text to grow from; give a folder with {', '.join(SUFFIXES)} files.",
                code="no_text",
            )
        return texts

    @cached_property
    def _paragraphs(self) -> list[str]:
        blocks = (block.strip("\n") for text in self._real for block in text.split("\n\n"))
        found = [block for block in blocks if _SHORTEST_CHARS <= len(block) <= _LONGEST_CHARS]
        return found or self._real

    @cached_property
    def _titles(self) -> list[str]:
        lines = (line for text in self._real for line in text.splitlines() if line.startswith("#"))
        found = [title for line in lines if (title := line.strip("# ").strip())]
        return found or ["Notes"]


class TextWriter:
    """Writer of successive documents into folders, a batch at a time."""

    def __init__(self, text: GrowingText, folder: Path) -> None:
        self._documents = text.documents()
        self._folder = folder
        self._batches = 0

    def write(self, size_bytes: int) -> Path:
        """Write at least one document and at least `size_bytes` into a new folder, and return the folder."""
        self._batches += 1
        batch = self._folder / f"growth-{self._batches}"
        written = number = 0
        while written < max(1, size_bytes):
            path = batch / f"{number // _FILES_A_FOLDER:03}" / f"{number:06}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            content = next(self._documents).encode("utf-8", "replace")
            path.write_bytes(content)
            written, number = written + len(content), number + 1
        return batch
