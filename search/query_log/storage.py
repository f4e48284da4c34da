"""Queries as they are kept: written in batches, keystrokes once, for as many days as a workspace says."""

import hashlib
import hmac
import unicodedata
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import (
    DurationField,
    Exists,
    ExpressionWrapper,
    IntegerField,
    OuterRef,
    QuerySet,
    Value,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Now
from django.utils import timezone

from kebab.http.api.errors import Forbidden
from kebab.http.api.permissions import Need
from kebab.people.access.caller import Access
from kebab.people.models import Role, Scope, Workspace
from kebab.people.workspace_settings.registry import default_of, preference
from kebab.tenancy.current_workspace import acting_for_a_step_in
from search.access.restrictions import hidden_from
from search.models import AskedQuery, Door
from search.models.query_log import MAX_ASKED_CHARS
from search.query_log.buffer import NotedQuery
from search.retrieval.text.cleaning import storable

#: What it takes to see what others asked; besides, every source must be there for the caller.
REVIEW: Final = Need(role=Role.ADMIN, scope=Scope.MANAGE)
#: The setting of a workspace: how many days it keeps queries; 0: none are kept.
KEPT_DAYS: Final = "queries_kept_days"
#: Of queries that one caller types on the search page, each so soon after the other, the last one counts.
KEYSTROKES: Final = timedelta(seconds=3)
# By then every process has written what was typed, and what is asked again is meant so.
_TYPING_IS_OVER: Final = timedelta(minutes=1)
_BATCH: Final = 5_000


def keep_queries(workspace_id: uuid.UUID, queries: Sequence[NotedQuery]) -> None:
    """Write the queries of a workspace; one that is gone keeps none. Raises OperationalError."""
    with acting_for_a_step_in(workspace_id):
        try:
            with transaction.atomic():
                AskedQuery.objects.bulk_create(map(_row, queries), ignore_conflicts=True)
                _drop_keystrokes(workspace_id)
                _drop_repetitions(workspace_id)
                _forget_typists(workspace_id)
        except IntegrityError:  # the workspace has gone
            return


def visible_queries(access: Access) -> "QuerySet[AskedQuery]":
    """Return the queries that were asked, to who manages the workspace and reads all of it. Raises Forbidden.

    What others ask tells of what they may read.
    """
    if Scope.MANAGE not in access.scopes or hidden_from(access.workspace, access.reader).exists():
        raise Forbidden("What others asked is for who manages the workspace and may read all of its sources.")
    queries: QuerySet[AskedQuery] = AskedQuery.objects.in_workspace(access.workspace)
    return queries


def prune_queries() -> int:
    """Delete the queries that are older than their workspaces keep them, and give how many."""
    return sum(_prune(workspace) for workspace in _with_old_queries().iterator())


def _with_old_queries() -> "QuerySet[Workspace]":
    """Return the workspaces that keep a query too long, or who typed it: found by one statement."""
    days = Coalesce(Cast(KeyTextTransform(KEPT_DAYS, "settings"), IntegerField()), default_of(KEPT_DAYS))
    kept = ExpressionWrapper(days * Value(timedelta(days=1)), DurationField())
    asked = AskedQuery.objects.filter(workspace=OuterRef("pk"))
    old = asked.filter(asked_at__lt=Now() - OuterRef("kept"))
    typed = asked.exclude(typist="").filter(asked_at__lt=timezone.now() - _TYPING_IS_OVER)
    return Workspace.objects.annotate(kept=kept).filter(Exists(old) | Exists(typed))


def folded(text: str) -> str:
    """Return the text as queries are told apart: their case, and how many spaces they have, is one
    to them.
    """
    return unicodedata.normalize("NFC", " ".join(text.split()).casefold())[:MAX_ASKED_CHARS]


def _row(query: NotedQuery) -> AskedQuery:
    text = storable(query.text)
    return AskedQuery(
        id=query.query_id,
        workspace_id=query.workspace_id,
        text=text,
        folded=folded(text),
        door=query.door,
        mode=query.mode.value,
        hits=query.hits,
        lexical_total=query.lexical_total,
        took_ms=query.took_ms,
        degraded=list(query.degraded),
        asked_at=query.asked_at,
        typist=_typist(query) if query.door is Door.PAGE else "",
    )


def _typist(query: NotedQuery) -> str:
    """Return a name that nobody can be found by."""
    named = f"typist:{query.workspace_id}:{query.caller}".encode()
    return hmac.new(settings.SECRET_KEY.encode(), named, hashlib.sha256).hexdigest()[:32]


def _drop_keystrokes(workspace_id: uuid.UUID) -> None:
    """Let the last one stand of what was typed.

    Here and not in the buffer: the keystrokes of one caller reach several processes.
    """
    later = _of_the_same_typist(asked_at__gt=OuterRef("asked_at"))
    _typed(workspace_id).filter(
        Exists(later.filter(asked_at__lte=OuterRef("asked_at") + KEYSTROKES))
    ).delete()


def _drop_repetitions(workspace_id: uuid.UUID) -> None:
    """Let the first one stand of what is shown again: by going back, by another filter or mode."""
    earlier = _of_the_same_typist(folded=OuterRef("folded"), asked_at__lt=OuterRef("asked_at"))
    soon = earlier.filter(asked_at__gte=OuterRef("asked_at") - _TYPING_IS_OVER)
    _typed(workspace_id).filter(Exists(soon)).delete()


def _typed(workspace_id: uuid.UUID) -> "QuerySet[AskedQuery]":
    typed: QuerySet[AskedQuery] = AskedQuery.objects.in_workspace(workspace_id).exclude(typist="")
    return typed


def _of_the_same_typist(**narrowed: Any) -> "QuerySet[AskedQuery]":
    same = {"workspace": OuterRef("workspace"), "typist": OuterRef("typist")}
    found: QuerySet[AskedQuery] = AskedQuery.objects.filter(**same, **narrowed)
    return found


def _forget_typists(workspace_id: uuid.UUID) -> None:
    """Forget who typed it once that is over: within the hour."""
    _typed(workspace_id).filter(asked_at__lt=timezone.now() - _TYPING_IS_OVER).update(typist="")


def _prune(workspace: Workspace) -> int:
    _forget_typists(workspace.pk)
    oldest = timezone.now() - timedelta(days=preference(workspace, KEPT_DAYS))
    old = AskedQuery.objects.in_workspace(workspace).filter(asked_at__lt=oldest)
    count = 0
    while ids := list(old.order_by().values_list("pk", flat=True)[:_BATCH]):
        count += AskedQuery.objects.in_workspace(workspace).filter(pk__in=ids).delete()[0]
    return count
