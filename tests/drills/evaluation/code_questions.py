"""Published questions on code bases."""

from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

PUBLISHED = ROOT / "docs" / "evaluation" / "code-retrieval.tsv"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeQuestion:
    """A question with the files that answer it, any of them."""

    repository: str
    question: str
    #: Names that the user might guess; may be empty.
    terms: tuple[str, ...]
    paths: tuple[str, ...]


def read_questions(repository: str, path: Path = PUBLISHED) -> list[CodeQuestion]:
    """Return the questions on one repository, in the order of the file."""
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    questions = (_question(*line.split("\t")) for line in lines)
    return [each for each in questions if each.repository == repository]


def _question(repository: str, question: str, terms: str, paths: str) -> CodeQuestion:
    return CodeQuestion(
        repository=repository,
        question=question,
        terms=tuple(filter(None, terms.split(", "))),
        paths=tuple(paths.split(" ")),
    )
