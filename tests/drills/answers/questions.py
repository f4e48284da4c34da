"""Published questions over real documentation, and the share that is answered right."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

PUBLISHED = ROOT / "docs" / "evaluation" / "answers.tsv"
_NONE = "-"


@dataclass(frozen=True)
class Question:
    """A question with the documents that answer it: any of them; none when it can't be answered."""

    corpus: str
    text: str
    paths: frozenset[str]


@dataclass(frozen=True)
class QuestionResult:
    """A question with the state of its answer and the first cited document."""

    question: Question
    state: str
    first: str | None

    @property
    def is_right(self) -> bool:
        """Return whether a right document is cited first, or an unanswerable question is refused."""
        if not self.question.paths:
            return self.state == "refused"
        return self.first in self.question.paths


def read_questions(path: Path = PUBLISHED) -> list[Question]:
    """Return the published questions."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        Question(
            corpus=row["corpus"],
            text=row["question"],
            paths=frozenset() if row["paths"] == _NONE else frozenset(row["paths"].split(",")),
        )
        for row in rows
    ]


def report(results: Iterable[QuestionResult]) -> Iterator[str]:
    """Yield the shares, then each question that was not answered right."""
    rows = list(results)
    for corpus in sorted({row.question.corpus for row in rows}):
        for label, is_answerable in (("right document first", True), ("refused", False)):
            some = [
                row
                for row in rows
                if row.question.corpus == corpus and bool(row.question.paths) is is_answerable
            ]
            yield f"{corpus}: {label} {sum(row.is_right for row in some)} of {len(some)}"
    for row in rows:
        if not row.is_right:
            yield f"{row.question.corpus}: {row.question.text} {row.state}, {row.first}"
