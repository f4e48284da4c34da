"""Conversations about made-up documents: which questions carry the subject, and their answers."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent
PUBLISHED: Final = _FOLDER / "conversations.txt"
DOCUMENTS: Final = _FOLDER / "conversation_documents.txt"
_TURN: Final = re.compile(r"(.+?) ([=+]) (\S+)(?: (.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question of a conversation."""

    question: str
    carries_subject: bool
    #: Name of the document that answers it, and a part of the answer.
    document: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """The outcome of a turn: whether it carried the subject, the path that was cited first, the answer."""

    turn: Turn
    carried_subject: bool
    path: str | None
    text: str

    @property
    def is_decided(self) -> bool:
        """Return whether the subject was carried or dropped as it ought to be."""
        return self.carried_subject == self.turn.carries_subject

    @property
    def is_answered(self) -> bool:
        """Return whether the right document is cited first, and the answer has the right part."""
        cited = self.path is not None and Path(self.path).stem == self.turn.document
        return cited and self.turn.answer.casefold() in self.text.casefold()


def read_conversations(path: Path = PUBLISHED) -> list[tuple[str, list[Turn]]]:
    """Return the conversations, each with its language."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return [(language, [_parse(each) for each in turns.split(" | ")]) for language, _, turns in pairs]


def _parse(text: str) -> Turn:
    parsed = _TURN.fullmatch(text)
    assert parsed is not None, text
    question, sign, document, answer = parsed.groups()
    return Turn(question=question, carries_subject=sign == "+", document=document, answer=answer or "")


def write_documents(folder: Path) -> None:
    """Write the documents to a folder."""
    for paragraph in DOCUMENTS.read_text(encoding="utf-8").split("\n\n")[1:]:
        path, _, text = paragraph.partition("\n")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def conversation_lines(results: Sequence[TurnResult]) -> Iterator[str]:
    """Yield the shares of later turns and of all, then the turns that went wrong."""
    for label, carries in (("carry the subject", True), ("drop it", False)):
        some = [each for each in results if each.turn.carries_subject is carries]
        claimed = [each for each in results if each.carried_subject is carries]
        right = sum(each.is_decided for each in some)
        yield f"{label}: {right} of {len(some)}, precision {right} of {len(claimed)}"
    yield f"answered: {sum(each.is_answered for each in results)} of {len(results)}"
    for each in results:
        if not (each.is_decided and each.is_answered):
            wrong = "" if each.is_decided else ", carried" if each.carried_subject else ", dropped"
            wanted = f"{each.turn.document} {each.turn.answer}"
            yield f"{each.turn.question} ({wanted}){wrong}: {each.path} {each.text[:80]!r}"


def ask_conversations(
    begin: Callable[[], Callable[[Turn], TurnResult]],
) -> Iterator[TurnResult]:
    """Ask the turns of each conversation in order; `begin` begins one and returns what asks its next turn."""
    for _, turns in read_conversations():
        ask = begin()
        yield from map(ask, turns)
