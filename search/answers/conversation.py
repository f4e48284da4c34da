"""Earlier questions and answers of a conversation, and the subject that a follow-up carries from them.

A question with three content words stands alone unless one of its words refers back. A shorter one is
searched with the subject of the conversation, and keeps it only if the passages that have its own words are
about that subject (`answerability.keeps_subject`).

The subject is the last question that stood alone, and the follow-up before this one. Where follow-ups have
named another thing, which the title or headings of the last cited passage have, that replaces what the
passage lacks.

An answer belongs to its asker; callers who manage the workspace and may read all of it can review it. It is
visible while its reader may read every document that it was made from, and deleted with any of them.
"""

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from kebab.database.querysets import first_or_not_found
from kebab.errors import NotFound
from kebab.identity.caller import Access, Caller
from kebab.identity.models import TokenScope, Workspace
from kebab.identity.reader import Reader
from kebab.people.workspace_settings.registry import preference
from kebab.tenancy.postgres.standby import reads_only
from kebab.wire import adapter_of, to_wire
from search.access.restrictions import hidden_sources
from search.analysis import STEMMED
from search.answers.answerability import keeps_subject, lighten_subject
from search.answers.focus import Focus, Question, find_focus, refers_back, says_subject
from search.answers.passages import RetrievalOutcome, find_passages, terms_of
from search.answers.prompt import EarlierTurn
from search.answers.request import AnswerRequest
from search.answers.types import Answer
from search.models import AnswerDocument, Document, KeptAnswer
from search.retrieval.text.unicode_scripts import words_of

#: Workspace setting: the number of days that answers are retained; 0: until they are deleted.
RETENTION_DAYS: Final = "answers_kept_days"
_BATCH = 500
_COPIED_FIELDS = (
    *("conversation_id", "question", "asked_by", "text", "model"),
    *("index_version", "seq", "lag", "took_ms", "created_at"),
)
# Stored as JSON, or by their names.
_DUMPED_FIELDS = {"state", "citations", "hits", "usage", "mode", "degraded", "warnings"}


def store_answer(workspace: Workspace, asker: Caller, answer: Answer, doc_ids: Collection[str]) -> bool:
    """Store an answer made from these documents; return False, without storing, if one has been deleted.

    Also if the database takes no writes.
    """
    if reads_only():
        return False
    documents = Document.objects.in_workspace(workspace).filter(
        doc_id__in=[uuid.UUID(hex=doc_id) for doc_id in doc_ids]
    )
    ids = list(documents.values_list("pk", flat=True))
    if len(ids) < len(doc_ids):
        return False
    try:
        with transaction.atomic():
            row = KeptAnswer.objects.create(**_fields(workspace, asker, answer))
            AnswerDocument.objects.bulk_create(
                AnswerDocument(workspace=workspace, answer=row, document_id=id_) for id_ in ids
            )
    except IntegrityError:  # the document or the workspace was deleted concurrently
        return False
    return True


def visible_answers(access: Access) -> "QuerySet[KeptAnswer]":
    """Return the answers that the caller may see, newest first."""
    answers = _readable(access.workspace, access.reader)
    return answers if can_review_all(access) else answers.filter(creator=access.identity)


def can_review_all(access: Access) -> bool:
    """Return whether the caller sees everybody's answers: it manages the workspace and may read all of it."""
    return TokenScope.MANAGE in access.scopes and not hidden_sources(access.workspace, access.reader).exists()


def get_answer(access: Access, answer_id: uuid.UUID) -> KeptAnswer:
    """Return an answer. Raises NotFound when the caller may not see one with this id."""
    return first_or_not_found(visible_answers(access).filter(pk=answer_id))


def delete_answer(access: Access, answer_id: uuid.UUID) -> None:
    """Delete an answer. Raises NotFound when the caller may not see one with this id."""
    row = get_answer(access, answer_id)
    KeptAnswer.objects.in_workspace(access.workspace).filter(pk=row.pk).delete()


def prune_answers() -> int:
    """Delete the answers that are past their workspaces' retention, and return their number."""
    limited = Workspace.objects.filter(**{f"settings__{RETENTION_DAYS}__gt": 0})
    return sum(_prune(workspace) for workspace in limited.iterator())


def _prune(workspace: Workspace) -> int:
    oldest = timezone.now() - timedelta(days=preference(workspace, RETENTION_DAYS))
    old = KeptAnswer.objects.in_workspace(workspace).filter(created_at__lt=oldest)
    count = 0
    while ids := list(old.values_list("pk", flat=True)[:_BATCH]):
        KeptAnswer.objects.in_workspace(workspace).filter(pk__in=ids).delete()
        count += len(ids)
    return count


def conversation_turns(
    workspace: Workspace, reader: Reader, asker: Caller, conversation_id: uuid.UUID
) -> "QuerySet[KeptAnswer]":
    """Return the asker's own answers in a conversation, newest first."""
    own = _readable(workspace, reader).filter(creator=asker.identity, conversation_id=conversation_id)
    return own.order_by("-created_at", "id")


def conversation_starts(workspace: Workspace, reader: Reader, asker: Caller) -> "QuerySet[KeptAnswer]":
    """Return the first visible answer of each of the asker's conversations, newest first."""
    own = _readable(workspace, reader).filter(creator=asker.identity)
    is_before = Q(created_at__lt=OuterRef("created_at")) | Q(
        created_at=OuterRef("created_at"), pk__lt=OuterRef("pk")
    )
    before = own.filter(is_before, conversation_id=OuterRef("conversation_id"))
    return own.filter(~Exists(before.order_by())).order_by("-created_at", "id")


def answer_doc_ids(workspace: Workspace, answers: Sequence[KeptAnswer]) -> set[str]:
    """Return the ids of the documents that these answers were made from."""
    rows = AnswerDocument.objects.in_workspace(workspace).filter(
        answer__in=[row.pk for row in answers], document__workspace=workspace
    )
    return {doc_id.hex for doc_id in rows.values_list("document__doc_id", flat=True)}


def answer_from_row(row: KeptAnswer) -> Answer:
    """Return a stored answer as it was given."""
    values = {name: getattr(row, name) for name in (*_COPIED_FIELDS, *_DUMPED_FIELDS)}
    answer: Answer = adapter_of(Answer).validate_python(
        values | {"answer_id": row.pk, "reason": row.reason or None}
    )
    return answer


def _readable(workspace: Workspace, reader: Reader) -> "QuerySet[KeptAnswer]":
    """Return the answers none of whose documents is hidden from the reader."""
    answers: QuerySet[KeptAnswer] = KeptAnswer.objects.in_workspace(workspace)
    if reader.reads_all:
        return answers
    hidden = AnswerDocument.objects.in_workspace(workspace).filter(
        document__workspace=workspace,
        document__source__in=hidden_sources(workspace, reader).order_by().values("pk"),
    )
    return answers.exclude(pk__in=hidden.values("answer"))


def _fields(workspace: Workspace, asker: Caller, answer: Answer) -> dict[str, Any]:
    return {
        "id": answer.answer_id,
        "workspace": workspace,
        "creator": asker.identity,
        "reason": answer.reason.value if answer.reason else "",
        **to_wire(answer, include=_DUMPED_FIELDS),
        **{name: getattr(answer, name) for name in _COPIED_FIELDS},
    }


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
    return Question(
        asking=focus.asking, subject=subject, content=frozenset(focus.speech.content(words_of(focus.asking)))
    )


def stands_alone(focus: Focus) -> bool:
    """Return whether a question needs no earlier one."""
    compounds = [each for each in focus.asking.split() if focus.speech.content(words_of(each))]
    return len(compounds) >= _MIN_WORDS and not refers_back(focus.asking, focus.speech)


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
        turns=tuple((row.question, row.text[:MAX_TURN_CHARS]) for row in last[::-1]),
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
