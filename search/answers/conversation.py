"""Earlier questions and answers of a conversation."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kebab.errors import NotFound
from kebab.identity.caller import Caller
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.analysis import STEMMED
from search.answers.history import answer_doc_ids, conversation_turns
from search.answers.prompt import EarlierTurn
from search.models import KeptAnswer
from search.retrieval.query.parser import parse_query
from search.retrieval.query.plain_match import content_units

#: Number of earlier turns in a prompt, and the length of each earlier answer in it.
MAX_TURNS: Final = 3
MAX_TURN_CHARS: Final = 1_000
# A question with fewer content words is taken for a follow-up of the earlier questions.
_MIN_WORDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation, limited to the turns whose documents its asker may still read."""

    id: uuid.UUID
    #: The last turns, in order.
    turns: tuple[EarlierTurn, ...] = ()
    #: Documents that these turns were made from; answers to follow-up questions depend on them too.
    doc_ids: frozenset[str] = frozenset()

    def expand_question(self, question: str) -> str:
        """Return the text to search for: a question with few content words is preceded by earlier ones."""
        text = question
        for turn in reversed(self.turns):
            if _is_self_contained(text):
                break
            text = f"{turn.question} {text}"
        return text


def find_conversation(
    workspace: Workspace, reader: Reader, asker: Caller, conversation_id: uuid.UUID | None
) -> Conversation:
    """Return the conversation with this id, a new one for None. Raises NotFound when the asker has none."""
    if conversation_id is None:
        return Conversation(id=uuid.uuid4())
    rows = list(conversation_turns(workspace, reader, asker, conversation_id)[:MAX_TURNS])
    if not rows:
        raise NotFound
    return Conversation(
        id=conversation_id,
        turns=_turns(rows[::-1]),
        doc_ids=frozenset(answer_doc_ids(workspace, rows)),
    )


def _is_self_contained(text: str) -> bool:
    return len(content_units(parse_query(text).terms, STEMMED)) >= _MIN_WORDS


def _turns(rows: Sequence[KeptAnswer]) -> tuple[EarlierTurn, ...]:
    return tuple(EarlierTurn(question=row.question, text=row.text[:MAX_TURN_CHARS]) for row in rows)
