"""Earlier questions and answers of a conversation, and the subject that a follow-up carries from them.

A question with three content words stands alone unless one of its words refers back. A shorter one is
searched with the subject of the conversation, and keeps it only if the passages that have its own words are
about that subject (`answerability.keeps_subject`).

The subject is the last question that stood alone, and the follow-up before this one. Where follow-ups have
named another thing, which the title or headings of the last cited passage have, that replaces what the
passage lacks.
"""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from django.db.models import QuerySet

from kebab.errors import NotFound
from kebab.identity.caller import Caller
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.analysis import STEMMED
from search.answers.answerability import keeps_subject, lighten_subject
from search.answers.focus import Focus, Question, find_focus, refers_back, says_subject
from search.answers.history import answer_doc_ids, conversation_turns
from search.answers.passages import RetrievalOutcome, find_passages, terms_of
from search.answers.prompt import EarlierTurn
from search.answers.request import AnswerRequest
from search.models import KeptAnswer
from search.retrieval.text.unicode_scripts import words_of

#: Number of earlier turns in a prompt, and the length of each earlier answer in it.
MAX_TURNS: Final = 3
MAX_TURN_CHARS: Final = 1_000
# A question with fewer content words may be a follow-up.
_MIN_WORDS: Final = 3
# The least share of the subject in passages that answer a follow-up, and one that begins as such ("And …?").
_LEAST_SHARE, _LEAST_SHARE_OPENED = 0.5, 0.1
# What is left of the subject's weight beside a name.
_NAMED_FACTOR: Final = 0.2
# Turns that are read at a time.
_PAGE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTurn:
    """An earlier question, and the index terms of the passage that its answer cites first."""

    question: str
    #: The document of that passage; None for a refusal.
    doc_id: str | None
    #: Of its title and headings, and of these and its text.
    place_terms: frozenset[str]
    terms: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedQuestion:
    """A question in its conversation."""

    question: Question
    #: The least share of the subject that a passage with the question's own words must have, else the
    #: question stands alone; None if it can't.
    least_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation, limited to the turns whose documents its asker may still read."""

    id: uuid.UUID
    #: The last turns, in order.
    turns: tuple[EarlierTurn, ...] = ()
    #: Documents that these turns were made from; answers to follow-up questions depend on them too.
    doc_ids: frozenset[str] = frozenset()
    #: The turns since the last question that stands alone, newest first, that one included.
    asked: tuple[AskedTurn, ...] = ()

    def resolve(self, message: str) -> ResolvedQuestion:
        """Return what a message asks, with the subject that it doesn't say."""
        focus = find_focus(message, _words(self.asked))
        if not says_subject(focus.asking, focus.speech) and focus.background:
            return ResolvedQuestion(question=_about(focus.background, focus))
        if not self.asked or stands_alone(focus):
            return ResolvedQuestion(question=Question(asking=focus.asking))
        return ResolvedQuestion(
            question=_about(_carry_subject(self.asked), focus), least_share=_least_share(focus)
        )


def _about(subject: str, focus: Focus) -> Question:
    return Question(asking=focus.asking, subject=subject, content=frozenset(_content(focus)))


def stands_alone(focus: Focus) -> bool:
    """Return whether a question needs no earlier one."""
    compounds = [each for each in focus.asking.split() if focus.speech.content(words_of(each))]
    return len(compounds) >= _MIN_WORDS and not refers_back(focus.asking, focus.speech)


def _content(focus: Focus) -> list[str]:
    return focus.speech.content(words_of(focus.asking))


def _least_share(focus: Focus) -> float | None:
    if not says_subject(focus.asking, focus.speech):
        return None
    return _LEAST_SHARE_OPENED if focus.speech.opens(words_of(focus.asking)) else _LEAST_SHARE


def find_conversation(
    workspace: Workspace, reader: Reader, asker: Caller, conversation_id: uuid.UUID | None
) -> Conversation:
    """Return the conversation with this id, a new one for None. Raises NotFound when the asker has none."""
    if conversation_id is None:
        return Conversation(id=uuid.uuid4())
    rows = conversation_turns(workspace, reader, asker, conversation_id)
    last = list(rows[:MAX_TURNS])
    if not last:
        raise NotFound
    return Conversation(
        id=conversation_id,
        turns=_turns(last[::-1]),
        doc_ids=frozenset(answer_doc_ids(workspace, last)),
        asked=find_asked(
            map(_read_turn, _pages(rows)), [word for row in last for word in words_of(row.question)]
        ),
    )


def find_in_conversation(
    workspace: Workspace, reader: Reader, request: AnswerRequest, conversation: Conversation, *, tokens: int
) -> RetrievalOutcome:
    """Search for a request's question with the subject that it carries; without it if it is about another.

    Raises as `find_passages` does.
    """
    resolved = conversation.resolve(request.question)
    found = find_passages(workspace, reader, request, resolved.question, tokens=tokens)
    if resolved.least_share is None:
        return found
    question = Question(asking=resolved.question.asking)
    alone = find_passages(workspace, reader, request, question, tokens=tokens)
    passages = [passage.terms for passage in (*found.passages, *alone.passages)]
    is_kept = found.words is None or keeps_subject(found.words, passages, resolved.least_share)
    chosen, other = (found, alone) if is_kept else (alone, found)
    chosen = chosen if chosen.refusal is None or other.refusal is not None else other
    return _prefer_named(chosen)


def _prefer_named(found: RetrievalOutcome) -> RetrievalOutcome:
    """Lighten the subject where the question's own words name a passage, such as that of another product."""
    own = [word for word in found.words or () if not word.is_carried]
    places = (terms_of(passage.origin.all_headings, found.analysis) for passage in found.passages)
    if not own or not any(all(word.is_in(terms) for word in own) for terms in places):
        return found
    return replace(found, words=lighten_subject(found.words or (), _NAMED_FACTOR))


def find_asked(turns: Iterable[AskedTurn], context: Sequence[str]) -> tuple[AskedTurn, ...]:
    """Return the turns up to the last question that stands alone; `turns` are the newest first.

    So does a short one that cites another document than the turn before it, unless it refers back. `context`
    are words of the conversation.
    """
    found: list[AskedTurn] = []
    for turn in turns:
        if found and _begins_topic(found[-1], turn, context):
            break
        found.append(turn)
        if stands_alone(find_focus(turn.question, context)):
            break
    return tuple(found)


def _begins_topic(turn: AskedTurn, before: AskedTurn, context: Sequence[str]) -> bool:
    focus = find_focus(turn.question, context)
    return turn.doc_id != before.doc_id and _least_share(focus) == _LEAST_SHARE


def _pages(rows: QuerySet[KeptAnswer]) -> Iterator[KeptAnswer]:
    """Yield the rows, a few at a time: most conversations need the last ones only."""
    for start in count(step=_PAGE):
        page = list(rows[start : start + _PAGE])
        yield from page
        if len(page) < _PAGE:
            return


def _read_turn(row: KeptAnswer) -> AskedTurn:
    cited = (
        row.citations[0] if row.citations else {"title": "", "heading_path": [], "quote": "", "doc_id": None}
    )
    place = "\n".join((cited["title"], *cited["heading_path"]))
    return AskedTurn(
        question=row.question,
        doc_id=cited["doc_id"],
        place_terms=terms_of(place, STEMMED),
        terms=terms_of(f"{place}\n{cited['quote']}", STEMMED),
    )


def _words(asked: Iterable[AskedTurn]) -> list[str]:
    return [word for turn in asked for word in words_of(turn.question)]


def _carry_subject(asked: Sequence[AskedTurn]) -> str:
    """Return what the turns are about."""
    context, latest = _words(asked), asked[0]
    texts = [find_focus(turn.question, context).asking for turn in asked]
    if len(asked) == 1:
        return texts[0]
    root, between = texts[-1], " ".join(texts[-2:0:-1])
    known = terms_of(root, STEMMED)
    named = latest.place_terms & terms_of(f"{between} {texts[0]}", STEMMED)
    if named - known:
        root = _words_with(root, latest.terms)
    return " ".join(filter(None, (root, _words_with(between, latest.place_terms), texts[0])))


def _words_with(text: str, terms: frozenset[str]) -> str:
    """Return the words of a text that have one of these index terms."""
    return " ".join(word for word in text.split() if not terms.isdisjoint(terms_of(word, STEMMED)))


def _turns(rows: Sequence[KeptAnswer]) -> tuple[EarlierTurn, ...]:
    return tuple(EarlierTurn(question=row.question, text=row.text[:MAX_TURN_CHARS]) for row in rows)
