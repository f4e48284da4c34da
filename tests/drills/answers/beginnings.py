"""Questions of the handbook behind greetings, reasons, background and pasted logs."""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PUBLISHED: Final = Path(__file__).with_suffix(".tsv")
#: Length of the pasted log.
LOG_CHARS: Final = 4_000
_LOG_LINES: Final = (
    "2026-01-19 08:{:02}:14,{:03} INFO  [worker-{}] client: fetched 118 objects from bucket=parts in 0.4 s",
    "2026-01-19 08:{:02}:15,{:03} WARN  [worker-{}] sync.client: slow response, status=200 attempt=2 of 5",
    "2026-01-19 08:{:02}:17,{:03} ERROR [worker-{}] store: could not write row id=8841: reset",
    "    at store.flush(Store.java:{}) at store.close(Store.java:{}) at main.run(Main.java:{})",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An outcome: whether it was answered, and the first cited document."""

    is_answered: bool
    first: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginningResult:
    """A question with and without a beginning; `is_outside` if the documents don't answer it."""

    message: str
    language: str
    is_outside: bool
    bare: Asked
    asked: Asked

    @property
    def is_right(self) -> bool:
        """Return whether it was answered as the bare question; one outside the documents, refused."""
        return not self.asked.is_answered if self.is_outside else self.asked == self.bare


def build_log() -> str:
    """Return a log of 4,000 characters."""
    lines = (_LOG_LINES[at % 4].format(at % 60, 100 + at * 7, at % 3) for at in range(LOG_CHARS))
    text = ""
    while len(text) < LOG_CHARS:
        text += f"{next(lines)}\n"
    return text[:LOG_CHARS].rstrip()


def read_rows(kind: str, path: Path = PUBLISHED) -> list[tuple[str, str]]:
    """Return language and text of the rows of a kind: `question`, `outside` or `beginning`."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row["lang"], row["text"].replace("\\n", "\n")) for row in rows if row["kind"] == kind]


def ask_beginnings(ask: Callable[[str], Asked]) -> Iterator[BeginningResult]:
    """Ask each question without and with each beginning of its language."""
    log, beginnings = build_log(), read_rows("beginning")
    for kind in ("question", "outside"):
        for language, text in read_rows(kind):
            bare = ask(text)
            for message in (each for of, each in beginnings if of == language):
                asked = ask(message.format(q=text, log=log))
                yield BeginningResult(
                    message=f"{message[:40]!r} {text}",
                    language=language,
                    is_outside=kind == "outside",
                    bare=bare,
                    asked=asked,
                )


def beginning_lines(results: Sequence[BeginningResult]) -> Iterator[str]:
    """Yield the shares, then the questions that were not treated as the bare ones."""
    for label, is_outside in (("answered as the bare question", False), ("outside, refused", True)):
        some = [each for each in results if each.is_outside is is_outside]
        yield f"{label}: {sum(each.is_right for each in some)} of {len(some)}"
    for each in results:
        if not each.is_right:
            yield f"{each.message}: {each.asked.is_answered} {each.asked.first}, bare {each.bare.first}"
