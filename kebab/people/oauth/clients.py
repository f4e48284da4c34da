"""Registration of clients by themselves (RFC 7591), and the end of those that nobody uses."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from kebab.identity.models import OAuthClient, OAuthGrant, PersonalToken

#: Registered clients that nobody has connected; each further one takes the place of the oldest.
MAX_UNUSED_CLIENTS: Final = 1_000
#: After so long without a connected person a client is forgotten.
IDLE: Final = timedelta(days=30)


def register_client(name: str, redirect_uris: Sequence[str]) -> OAuthClient:
    """Register a client with checked addresses."""
    client = OAuthClient.objects.create(name=name, redirect_uris=list(redirect_uris))
    beyond = _unused_clients().order_by("-active_at")[MAX_UNUSED_CLIENTS:]
    OAuthClient.objects.filter(pk__in=list(beyond.values_list("pk", flat=True))).delete()
    return client


def prune_connections() -> int:
    """Delete expired grants, then tokens that none can renew, then idle clients; return how many of those.

    A used grant stays until it expires, so that its second use is noticed.
    """
    now = timezone.now()
    OAuthGrant.objects.filter(expires_at__lt=now).delete()
    ended = PersonalToken.objects.filter(client__isnull=False, grants=None, expires_at__lt=now)
    ended.delete()
    deleted, _ = _unused_clients().filter(active_at__lt=now - IDLE).delete()
    return deleted


def _unused_clients() -> "QuerySet[OAuthClient]":
    return OAuthClient.objects.filter(~Exists(PersonalToken.objects.filter(client=OuterRef("pk"))))
