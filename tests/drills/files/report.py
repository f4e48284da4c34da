"""Report about files that were read: results by format, refusals, omissions, and words that were lost."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from ingest.digest.pool import Outcome
from ingest.parsers.errors import ParseRefused
from tests.drills.files.recall import LEAST_MEDIAN, WORDS_TOLD, Recall, compare, figures, worst
from tests.drills.files.visible_text import visible_words

_COLUMNS = ("read", "by a simpler parser", "without text", "refused", "quarantined")


class Report:
    """Results of the files below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._refused: Counter[tuple[str, str]] = Counter()
        self._omitted: Counter[str] = Counter()
        self._recalls: dict[str, list[Recall]] = defaultdict(list)
        self._told: list[str] = []

    def add(self, path: str, outcome: Outcome) -> None:
        """Add the result of the file at a path below the folder."""
        format_ = format_of(path)
        column, why = describe(outcome)
        self._counts[format_][column] += 1
        self._told += [f"{column}: {path}: {why}"] if why else []
        if isinstance(outcome, ParseRefused):
            self._refused[format_, outcome.code] += 1
        elif not isinstance(outcome, Exception):
            self._omitted.update(outcome.omissions.keys())
            if seen := visible_words(format_, (self._folder / path).read_bytes()):
                self._recalls[format_].append(compare(path, seen, outcome))

    def has_failed(self) -> bool:
        """Return whether a file crashed all its parsers, or a format lost more words than it may."""
        medians = [figures(recalls)["median"] for recalls in self._recalls.values()]
        return any(row["quarantined"] for row in self._counts.values()) or any(
            m < LEAST_MEDIAN for m in medians
        )

    def lines(self) -> Iterator[str]:
        """Yield the report's lines: tables in Markdown, then what is to be looked at."""
        total: Counter[str] = sum(self._counts.values(), Counter())
        yield from _table(
            ("format", "files", *_COLUMNS),
            [
                (name, row.total(), *map(row.__getitem__, _COLUMNS))
                for name, row in [*sorted(self._counts.items()), ("all", total)]
            ],
        )
        yield from _table(
            ("format", "refused as", "files", "share of the format"),
            [
                (format_, code, count, f"{count / self._counts[format_].total():.1%}")
                for (format_, code), count in sorted(self._refused.items())
            ],
        )
        yield from _table(("omission", "files"), sorted(self._omitted.items()))
        yield from _recall_table(self._recalls)
        for format_, recalls in sorted(self._recalls.items()):
            yield from ("", f"Lowest recall of {format_}:", *map(_describe_recall, worst(recalls)))
        yield from ("", *sorted(self._told))


def format_of(path: str) -> str:
    """Return the format of a file: its folder, or its extension where it has none."""
    parts = PurePosixPath(path).parts
    return parts[0] if len(parts) > 1 else PurePosixPath(path).suffix[1:].lower()


def describe(outcome: Outcome) -> tuple[str, str]:
    """Return the column of a result, and what is worth telling about it."""
    if isinstance(outcome, ParseRefused):
        return "refused", f"{outcome.code}: {outcome.detail}"
    if isinstance(outcome, Exception):
        return "quarantined", str(outcome)
    told = "; ".join((*outcome.warnings, *outcome.omissions))[:300]
    if not any(chunk.text for chunk in outcome.chunks):
        return "without text", told
    is_fallback = any("parser failed" in warning for warning in outcome.warnings)
    return ("by a simpler parser" if is_fallback else "read"), told


def _recall_table(recalls: Mapping[str, Sequence[Recall]]) -> Iterator[str]:
    rows = [(format_, figures(each)) for format_, each in sorted(recalls.items())]
    if rows:
        yield from _table(
            ("format", *rows[0][1]),
            [(format_, *(f"{value:.4g}" for value in row.values())) for format_, row in rows],
        )


def _describe_recall(recall: Recall) -> str:
    told = ", ".join(recall.omissions) or "nothing omitted"
    return (
        f"{recall.share:.3f} of {recall.n_words} words: {recall.path}: "
        f"{' '.join(recall.lost[:WORDS_TOLD])} ({len(recall.lost)} lost; {told})"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield from ("", _row(header), "|---" * len(header) + "|", *map(_row, rows))


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
