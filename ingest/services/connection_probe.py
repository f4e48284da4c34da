"""Probes of the connection of a source, also before it is added."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingest.connectors.connect import OpenOptions, connect
from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.source import list_references
from ingest.connectors.records.kinds import RECORD_KINDS, open_reader
from ingest.connectors.web.source import open_start_page
from ingest.errors import ConnectionFailed
from ingest.services.source_definition import check_config, may_read_folder, refuse_upload_source
from kebab.http.rate_limits.rules import count, parse_limit
from kebab.http_client.errors import RequestFailed
from kebab.people.access.caller import Access
from search.models import Source, SourceKind, SourceVersion

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
        return _PROBES[source.kind](source, _deadline())
    except (ListingFailed, RequestFailed) as error:
        raise ConnectionFailed(str(error)) from error


def _deadline() -> Callable[[], None]:
    """Return a function that raises ListingFailed once the time is over."""
    ends_at = time.monotonic() + _LIMIT_S

    def check() -> None:
        if time.monotonic() > ends_at:
            raise ListingFailed(_("No answer within %(n)d seconds.") % {"n": _LIMIT_S})

    return check


def _probe_folder(source: Source, while_waiting: Callable[[], None]) -> str:
    with connect(OpenOptions(source=source, version=SourceVersion(), while_waiting=while_waiting)):
        try:
            first = next(Path(source.config["path"]).iterdir(), None)
        except OSError as error:
            raise ListingFailed(
                _("The folder can’t be read: %(reason)s.") % {"reason": error.strerror}
            ) from error
    return (
        _("Connected. There are no documents yet.")
        if first is None
        else _("Connected. The folder can be read.")
    )


def _probe_git(source: Source, while_waiting: Callable[[], None]) -> str:
    found = list_references(source, while_waiting)
    branches = ngettext("%(n)d branch", "%(n)d branches", len(found.branches)) % {"n": len(found.branches)}
    tags = ngettext("%(n)d tag", "%(n)d tags", len(found.tags)) % {"n": len(found.tags)}
    return _("Connected: %(branches)s, %(tags)s.") % {"branches": branches, "tags": tags}


def _probe_site(source: Source, while_waiting: Callable[[], None]) -> str:
    return _("Connected: %(url)s answers.") % {"url": open_start_page(source.config, while_waiting)}


def _probe_records(source: Source, while_waiting: Callable[[], None]) -> str:
    with closing(open_reader(source, while_waiting)) as reader:
        first = reader.probe()
    if first is None:
        return _("Connected. There are no documents yet.")
    return _("Connected. The first document is %(path)s.") % {"path": first}


_PROBES: Mapping[str, Callable[[Source, Callable[[], None]], str]] = {
    SourceKind.FOLDER: _probe_folder,
    SourceKind.GIT: _probe_git,
    SourceKind.WEB: _probe_site,
    **dict.fromkeys(RECORD_KINDS, _probe_records),
}
