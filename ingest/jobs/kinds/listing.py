"""The listing of a source or an archive, before any content is read."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ingest.jobs.queue.job_events import FileEnd
from ingest.jobs.queue.report import EXAMPLES, MAX_EXAMPLE_CHARS
from ingest.skip_messages import is_refusal


@dataclass(slots=True, kw_only=True)
class Listing:
    """Paths to ingest and to delete, and counts of the others."""

    to_ingest: list[str] = field(default_factory=list)
    to_delete: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    failed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    refused: list[FileEnd] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, Any]:
        """Return the counts that the job keeps."""
        return {
            "unchanged": self.unchanged,
            "skipped": self.skipped,
            "failed": self.failed,
            "examples": self.examples,
        }

    def count_excluded(self, outcome: str, reason: str, path: str) -> None:
        """Count a path that is not ingested."""
        if is_refusal(outcome, reason, is_upload=False):
            self.refused.append(FileEnd(path, outcome, reason))
        (self.failed if outcome == "failed" else self.skipped)[reason] += 1
        if len(self.examples[reason]) < EXAMPLES:
            self.examples[reason].append(path[:MAX_EXAMPLE_CHARS])
