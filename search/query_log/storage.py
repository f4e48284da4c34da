"""Storage of logged queries: batched writes, merged keystrokes, and retention by workspace."""

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
    Q,
    QuerySet,
    Value,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Now
from django.utils import timezone

from kebab.database.transactions import local_transaction
from kebab.errors import Forbidden
from kebab.identity.caller import MANAGERS, Access
from kebab.identity.models import TokenScope, Workspace
from kebab.people.workspace_settings.registry import default_of, preference
from kebab.tenancy.current_workspace import acting_everywhere, acting_in_step
from kebab.webhooks.endpoints import Event, publish
from kebab.webhooks.models import Endpoint, EventType
from search.access.restrictions import hidden_sources
from search.models import AskedQuery, Door, QueryReview, ReviewState
from search.models.query_log import MAX_ASKED_CHARS
from search.query_log.buffer import LoggedQuery
from search.retrieval.text.sanitize import strip_unstorable

#: Permission to see the queries of others; the caller must also be able to read all sources.
REVIEW: Final = MANAGERS
#: The workspace setting for the retention of queries in days; 0 logs none.
KEPT_DAYS: Final = "queries_kept_days"
#: Queries of one caller on the search page within this time of each other count as one, the last.
KEYSTROKES: Final = timedelta(seconds=3)
# By then every process has stored the keystrokes, and a repeated query counts as a new one.
_TYPING_IS_OVER: Final = timedelta(minutes=1)
_BATCH: Final = 5_000


def store_queries(workspace_id: uuid.UUID, queries: Sequence[LoggedQuery]) -> None:
    """Store queries of a workspace; does nothing if it is deleted. Raises OperationalError."""
    with acting_in_step(workspace_id):
        try:
            with local_transaction():
                rows = [_build_row(query) for query in queries]
                AskedQuery.objects.bulk_create(rows, ignore_conflicts=True)
                _publish_unsuccessful(workspace_id, [row for row in rows if not row.typist])
                _delete_keystrokes(workspace_id)
                _delete_repetitions(workspace_id)
                clear_typists(workspace_id)
        except IntegrityError:  # the workspace has gone
            return


def visible_queries(access: Access) -> "QuerySet[AskedQuery]":
    """Return the workspace's queries, for managers who may read all of its sources. Raises Forbidden.

    Queries of others reveal what they may read.
    """
    if TokenScope.MANAGE not in access.scopes or hidden_sources(access.workspace, access.reader).exists():
        raise Forbidden("What others asked is for who manages the workspace and may read all of its sources.")
    queries: QuerySet[AskedQuery] = AskedQuery.objects.in_workspace(access.workspace)
    return queries


def review_query(access: Access, text: str, state: ReviewState) -> None:
    """Store what the caller does about a query without results. Raises Forbidden."""
    visible_queries(access)
    owner = "" if state is ReviewState.OPEN else access.actor
    QueryReview.objects.bulk_create(
        [QueryReview(workspace=access.workspace, folded=fold_query(text), state=state, owner=owner)],
        update_conflicts=True,
        unique_fields=["workspace", "folded"],
        update_fields=["state", "owner", "changed_at"],
    )


def prune_queries() -> int:
    """Delete queries past their workspace's retention; return the number deleted."""
    return sum(_prune(workspace) for workspace in _workspaces_with_old_queries().iterator())


def _workspaces_with_old_queries() -> "QuerySet[Workspace]":
    """Return the workspaces with an expired query, typist or review, by one statement."""
    days = Coalesce(Cast(KeyTextTransform(KEPT_DAYS, "settings"), IntegerField()), default_of(KEPT_DAYS))
    kept = ExpressionWrapper(days * Value(timedelta(days=1)), DurationField())
    logged = AskedQuery.objects.filter(workspace=OuterRef("pk"))
    old = logged.filter(asked_at__lt=Now() - OuterRef("kept"))
    typed = logged.exclude(typist="").filter(asked_at__lt=timezone.now() - _TYPING_IS_OVER)
    reviews = QueryReview.objects.filter(workspace=OuterRef("pk"))
    reviewed = reviews.filter(changed_at__lt=Now() - OuterRef("kept"))
    return Workspace.objects.annotate(kept=kept).filter(Exists(old) | Exists(typed) | Exists(reviewed))


def fold_query(text: str) -> str:
    """Return the text in the normal form for grouping: NFC, case-folded, single spaces, truncated."""
    return unicodedata.normalize("NFC", " ".join(text.split()).casefold())[:MAX_ASKED_CHARS]


def _build_row(query: LoggedQuery) -> AskedQuery:
    text = strip_unstorable(query.text)
    return AskedQuery(
        id=query.query_id,
        workspace_id=query.workspace_id,
        text=text,
        folded=fold_query(text),
        door=query.door,
        mode=query.mode.value,
        hits=query.hits,
        lexical_total=query.lexical_total,
        took_ms=query.took_ms,
        degraded=list(query.degraded),
        asked_at=query.asked_at,
        typist=_typist_pseudonym(query) if query.door is Door.PAGE else "",
    )


def _typist_pseudonym(query: LoggedQuery) -> str:
    """Return a pseudonym of the caller, a keyed hash."""
    named = f"typist:{query.workspace_id}:{query.caller}".encode()
    return hmac.new(settings.SECRET_KEY.encode(), named, hashlib.sha256).hexdigest()[:32]


def _delete_keystrokes(workspace_id: uuid.UUID) -> None:
    """Delete all but the last query of a series of keystrokes.

    Done here and not in the buffer, because keystrokes of one caller reach several processes.
    """
    later = _queries_of_same_typist(asked_at__gt=OuterRef("asked_at"))
    _queries_with_typist(workspace_id).filter(
        Exists(later.filter(asked_at__lte=OuterRef("asked_at") + KEYSTROKES))
    ).delete()


def _delete_repetitions(workspace_id: uuid.UUID) -> None:
    """Delete repetitions of a query within a minute: by going back, or with another filter or mode."""
    earlier = _queries_of_same_typist(folded=OuterRef("folded"), asked_at__lt=OuterRef("asked_at"))
    soon = earlier.filter(asked_at__gte=OuterRef("asked_at") - _TYPING_IS_OVER)
    _queries_with_typist(workspace_id).filter(Exists(soon)).delete()


def _queries_with_typist(workspace_id: uuid.UUID) -> "QuerySet[AskedQuery]":
    typed: QuerySet[AskedQuery] = AskedQuery.objects.in_workspace(workspace_id).exclude(typist="")
    return typed


def _queries_of_same_typist(**narrowed: Any) -> "QuerySet[AskedQuery]":
    same = {"workspace": OuterRef("workspace"), "typist": OuterRef("typist")}
    found: QuerySet[AskedQuery] = AskedQuery.objects.filter(**same, **narrowed)
    return found


def publish_typed_queries() -> None:
    """Tell webhooks of unsuccessful queries on pages, once their keystrokes are over."""
    with acting_everywhere():
        told = Endpoint.objects.filter(disabled_at=None, events__contains=[EventType.SEARCH_UNSUCCESSFUL])
        workspace_ids = list(told.order_by().values_list("workspace_id", flat=True).distinct())
    for workspace_id in workspace_ids:
        with acting_in_step(workspace_id):
            clear_typists(workspace_id)


def clear_typists(workspace_id: uuid.UUID) -> None:
    """Clear the typists of queries older than a minute, which are told to webhooks now; called hourly."""
    typed = _queries_with_typist(workspace_id).filter(asked_at__lt=timezone.now() - _TYPING_IS_OVER)
    with transaction.atomic():
        unsuccessful = list(typed.filter(hits=0).select_for_update())
        _publish_unsuccessful(workspace_id, unsuccessful)
        typed.filter(Q(hits__gt=0) | Q(pk__in=[query.pk for query in unsuccessful])).update(typist="")


def _publish_unsuccessful(workspace_id: uuid.UUID, queries: Sequence[AskedQuery]) -> None:
    events = [
        Event(
            type=EventType.SEARCH_UNSUCCESSFUL,
            subject=query.pk.hex,
            data={"query": query.text, "mode": query.mode, "interface": query.door},
            id=query.pk,
            at=query.asked_at,
        )
        for query in queries
        if not query.hits
    ]
    publish(workspace_id, events)


def _prune(workspace: Workspace) -> int:
    clear_typists(workspace.pk)
    oldest = timezone.now() - timedelta(days=preference(workspace, KEPT_DAYS))
    QueryReview.objects.in_workspace(workspace).filter(changed_at__lt=oldest).delete()
    old = AskedQuery.objects.in_workspace(workspace).filter(asked_at__lt=oldest)
    count = 0
    while ids := list(old.order_by().values_list("pk", flat=True)[:_BATCH]):
        count += AskedQuery.objects.in_workspace(workspace).filter(pk__in=ids).delete()[0]
    return count
