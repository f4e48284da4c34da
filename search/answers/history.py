"""Stored answers: visibility, retention and deletion.

An answer belongs to its asker; callers who manage the workspace and may read all of it can review it. It is
visible while its reader may read every document that it was made from, and deleted with any of them.
"""

import uuid
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from kebab.database.querysets import first_or_not_found
from kebab.identity.caller import Access, Caller
from kebab.identity.models import TokenScope, Workspace
from kebab.identity.reader import Reader
from kebab.people.workspace_settings.registry import preference
from kebab.wire import adapter_of, to_wire
from search.access.restrictions import hidden_sources
from search.answers.types import Answer
from search.models import AnswerDocument, Document, KeptAnswer

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
    """Store an answer made from these documents; return False, without storing, if one has been deleted."""
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
