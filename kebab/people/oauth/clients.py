"""Registration of clients by themselves (RFC 7591), and the end of those that nobody uses."""

import re
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


_HOST: Final = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
# Without user, fragment, backslash and quotes: what a browser opens is what a person has seen.
_PATH: Final = r"""(?:[/?](?:(?!["'#\\<>])[!-~])*)?"""
_SITE: Final = re.compile(rf"https://{_HOST}(?::[0-9]{{1,5}})?{_PATH}")
_LOOPBACK: Final = re.compile(
    rf"(http://(?:localhost|127\.0\.0\.1|\[::1\]))(?::[0-9]{{1,5}})?({_PATH})", re.ASCII
)


def check_redirect_uri(uri: str) -> None:
    """Raise ValueError for an address to which no code is sent."""
    if _SITE.fullmatch(uri) is None and _LOOPBACK.fullmatch(uri) is None:
        raise ValueError(
            "It is not a redirect URI; give https://host/path, or http://127.0.0.1/path of a program on the"
            " person's machine, without a fragment."
        )


def is_same_redirect(registered: str, given: str) -> bool:
    """Return whether both are the same address; the port of this machine's may differ (RFC 8252, 7.3)."""
    ours, theirs = _LOOPBACK.fullmatch(registered), _LOOPBACK.fullmatch(given)
    if ours is None or theirs is None:
        return registered == given
    return ours.groups() == theirs.groups()
