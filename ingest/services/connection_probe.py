"""Probes of the connection of a source, also before it is added."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from django.utils.translation import gettext as _

from ingest.connectors.errors import ListingFailed
from ingest.connectors.kinds import kind_of
from ingest.errors import ConnectionFailed
from ingest.services.source_definition import check_config, may_read_folder, refuse_upload_source
from kebab.http.rate_limits.rules import count, parse_limit
from kebab.http_client.connections import RequestFailed
from kebab.identity.caller import Access
from search.models import Source

_LIMIT_S: Final = 10.0
_LIMIT: Final = "10/minute"


def probe_connection(access: Access, kind: str, config: Mapping[str, Any]) -> str:
    """Connect with a config that is not stored yet, as `probe_source` does.

    Raises ConnectionFailed, RateLimited, and the errors of `check_config`.
    """
    _count_probe(access)
    checked = check_config(kind, config, partial(may_read_folder, access=access))
    return _probe(Source(workspace=access.workspace, kind=kind, **checked))


def probe_source(access: Access, source: Source) -> str:
    """Connect as a sync would, with the same checks, and return in words what was found.

    Nothing is stored, and nobody waits longer than _LIMIT_S. Raises ConnectionFailed, RateLimited, Conflict
    for a source that holds uploads.
    """
    refuse_upload_source(source)
    _count_probe(access)
    return _probe(source)


def _count_probe(access: Access) -> None:
    count(parse_limit(_LIMIT), "connection-tests", access.identity, message=_("Too many tests."))


def _probe(source: Source) -> str:
    try:
        return kind_of(source.kind).probe(source, _deadline())
    except (ListingFailed, RequestFailed) as error:
        raise ConnectionFailed(str(error)) from error


def _deadline() -> Callable[[], None]:
    """Return a function that raises ListingFailed once the time is over."""
    ends_at = time.monotonic() + _LIMIT_S

    def check() -> None:
        if time.monotonic() > ends_at:
            raise ListingFailed(_("No answer within %(n)d seconds.") % {"n": _LIMIT_S})

    return check
