"""Saved searches of members: creation, change and deletion, with audit events."""

import hashlib
import secrets
import uuid
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.db import transaction
from django.urls import reverse

from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, Unprocessable
from kebab.identity.caller import Access, access_by_identity
from kebab.identity.models import Membership, Workspace
from kebab.people import audit
from kebab.people.invitations import mail_is_delivered
from kebab.tenancy.current_workspace import acting_everywhere
from search.models import AlertDocument, Notify, SavedSearch
from search.models.tenant import TenantQuerySet
from search.retrieval.errors import InvalidQuery
from search.retrieval.query.filter_codec import filters_from_json, filters_to_json
from search.retrieval.types import Mode

#: The most saved searches of one member.
MAX_SAVED: Final = 100
MAX_TEXT_CHARS: Final = 2_000


def own_searches(access: Access) -> "TenantQuerySet[SavedSearch]":
    """Return the caller's saved searches. Raises Forbidden for callers that are no person."""
    rows = SavedSearch.objects.in_workspace(access.workspace)
    return rows.filter(membership__user=access.caller.person)


def get_search(access: Access, search_id: uuid.UUID) -> SavedSearch:
    """Return one of the caller's saved searches. Raises NotFound, Forbidden."""
    return first_or_not_found(own_searches(access).filter(pk=search_id))


def save_search(
    access: Access,
    *,
    name: str,
    text: str,
    mode: str = Mode.HYBRID,
    filters: Mapping[str, Any],
    notify: str = Notify.NO,
) -> SavedSearch:
    """Save a search of the caller. Raises Forbidden, InvalidQuery, InvalidFilter, Conflict, Unprocessable."""
    person = access.caller.person
    _check_notify(notify)
    if not text.strip() or len(text) > MAX_TEXT_CHARS:
        raise InvalidQuery(f"The query has {len(text)} characters; give 1 to {MAX_TEXT_CHARS:,} with words.")
    with transaction.atomic():
        members = Membership.objects.filter(workspace=access.workspace, user=person)
        membership = first_or_not_found(members.select_for_update())
        if own_searches(access).count() >= MAX_SAVED:
            raise Conflict(f"You have saved {MAX_SAVED} searches here already; delete one first.")
        saved = SavedSearch.objects.create(
            workspace=access.workspace,
            membership=membership,
            name=name.strip() or text[:200],
            text=text,
            mode=Mode(mode).value,
            filters=filters_to_json(filters_from_json(filters)),
            notify=notify,
            seen_seq=_head_seq(access.workspace),
        )
        audit.record(access, "saved_search.created", saved.name, id=str(saved.pk), notify=notify)
    return saved


def change_search(
    access: Access, search_id: uuid.UUID, *, name: str | None = None, notify: str | None = None
) -> SavedSearch:
    """Rename a saved search, or change its alerts, which begin with the next change of a document.

    Raises NotFound, Unprocessable.
    """
    if notify is not None:
        _check_notify(notify)
    with transaction.atomic():
        saved = first_or_not_found(own_searches(access).select_for_update(of=("self",)).filter(pk=search_id))
        saved.name = saved.name if name is None else name
        if notify is not None and notify != saved.notify:
            saved.notify, saved.seen_seq = notify, _head_seq(access.workspace)
            saved.unsent, saved.mail_due_at = [], None
            if notify == Notify.NO:
                AlertDocument.objects.in_workspace(access.workspace).filter(saved_search=saved.pk).delete()
        saved.save(update_fields=["name", "notify", "seen_seq", "unsent", "mail_due_at"])
        audit.record(access, "saved_search.changed", saved.name, id=str(saved.pk), notify=saved.notify)
    return saved


def delete_search(access: Access, search_id: uuid.UUID) -> None:
    """Delete a saved search with its feed, its alerts and the mails that are due. Raises NotFound."""
    with transaction.atomic():
        saved = get_search(access, search_id)
        SavedSearch.objects.in_workspace(access.workspace).filter(pk=saved.pk).delete()
        audit.record(access, "saved_search.deleted", saved.name, id=str(saved.pk))


def open_feed(access: Access, search_id: uuid.UUID) -> tuple[SavedSearch, str]:
    """Create the feed of a saved search, with a new secret address; return the path. An earlier one ends.

    Raises NotFound.
    """
    secret = secrets.token_urlsafe(32)
    saved = _set_feed(access, search_id, _digest(secret), "saved_search.feed_opened")
    return saved, reverse("feed", args=[secret])


def close_feed(access: Access, search_id: uuid.UUID) -> SavedSearch:
    """End the feed of a saved search, at once and for good. Raises NotFound."""
    return _set_feed(access, search_id, None, "saved_search.feed_closed")


def find_feed(secret: str) -> tuple[SavedSearch, Access] | None:
    """Return the saved search with this feed, and its owner's access; None if either has ended."""
    with acting_everywhere():
        rows = SavedSearch.objects.filter(feed_sha256=_digest(secret))
        saved = rows.select_related("workspace", "membership").first()
    access = None if saved is None else owner_access(saved)
    return None if saved is None or access is None else (saved, access)


def owner_access(saved: SavedSearch) -> Access | None:
    """Return the current access of the owner; None for a person who has been deactivated."""
    return access_by_identity(saved.workspace, f"user:{saved.membership.user_id}")


def page_address(saved: SavedSearch) -> str | None:
    """Return the address of the page that runs the search; None for filters that no page has."""
    if "metadata" in saved.filters:
        return None
    fields = [("q", saved.text), ("mode", saved.mode)]
    for name, values in saved.filters.items():
        fields += [(name, value) for value in ([values] if isinstance(values, str) else values)]
    return f"{reverse('search', args=[saved.workspace.slug])}?{urlencode(fields)}"


def _set_feed(access: Access, search_id: uuid.UUID, digest: bytes | None, action: str) -> SavedSearch:
    with transaction.atomic():
        saved = first_or_not_found(own_searches(access).select_for_update(of=("self",)).filter(pk=search_id))
        saved.feed_sha256 = digest
        saved.save(update_fields=["feed_sha256"])
        audit.record(access, action, saved.name, id=str(saved.pk))
    return saved


def _check_notify(notify: str) -> None:
    if notify == Notify.MAIL and not mail_is_delivered():
        raise Unprocessable(
            "This server sends no mail (KEBAB_EMAIL_URL); choose a webhook or a feed.", code="no_mail"
        )


def _head_seq(workspace: Workspace) -> int:
    return Workspace.objects.values_list("head_seq", flat=True).get(pk=workspace.pk)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
