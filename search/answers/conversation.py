"""What was asked and answered before in a conversation."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kebab.http.api.errors import NotFound
from kebab.people.access.caller import Caller
from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.analysis import STEMMED
from search.answers.history import documents_behind, turns_of
from search.answers.prompt import EarlierTurn
from search.models import KeptAnswer
from search.retrieval.query.match import index_terms, parse_query

#: So many turns a model is told of, and so much of what was answered in each.
MAX_TURNS: Final = 3
MAX_TURN_CHARS: Final = 1_000
# A question with fewer words that say what it is about is taken for one about what was asked before.
_MIN_WORDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation as far as its asker may still read what it was made from."""

    id: uuid.UUID
    #: The last ones, in order.
    turns: tuple[EarlierTurn, ...] = ()
    #: What these were made from, and so what comes of them is.
    doc_ids: frozenset[str] = frozenset()

    def asked(self, question: str) -> str:
        """Return what to search for: a question that says little by itself goes on with those before."""
        asked = question
        for turn in reversed(self.turns):
            if _says_enough(asked):
                break
            asked = f"{turn.question} {asked}"
        return asked


def find_conversation(
    workspace: Workspace, reader: Reader, asker: Caller, conversation_id: uuid.UUID | None
) -> Conversation:
    """Return the conversation, a new one for None. Raises NotFound when the asker has none of this id."""
    if conversation_id is None:
        return Conversation(id=uuid.uuid4())
    rows = list(turns_of(workspace, reader, asker, conversation_id)[:MAX_TURNS])
    if not rows:
        raise NotFound
    return Conversation(
        id=conversation_id,
        turns=_turns(rows[::-1]),
        doc_ids=frozenset(documents_behind(workspace, rows)),
    )


def _says_enough(text: str) -> bool:
    return len(index_terms(parse_query(text).terms, STEMMED)) >= _MIN_WORDS


def _turns(rows: Sequence[KeptAnswer]) -> tuple[EarlierTurn, ...]:
    return tuple(EarlierTurn(question=row.question, text=row.text[:MAX_TURN_CHARS]) for row in rows)
