"""The page of the files that could not be read, and the actions on one."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from ingest.api.quarantine import QuarantineView
from ingest.api.querysets import UNREADABLE_STATES, get_unreadable, list_unreadable, narrow_unreadable
from ingest.api.sources.configs import CHANGE_SOURCES
from ingest.services.quarantine import delete_unreadable, retry_unreadable
from kebab.identity.models import Workspace
from kebab.pages.page import PostAction, WorkspacePage, list_page
from search.models import SourceKind

_TAB = "activity"
# The most sources offered as choices.
_SHOWN_SOURCES = 200


class QuarantinePage(WorkspacePage):
    """The files that no parser reads, and those that every parser failed on."""

    need = QuarantineView.required["GET"]
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the list, the latest first, filtered by `source` (key or id) and `state`."""
        source, state = request.GET.get("source", "")[:63], request.GET.get("state", "")
        readable = list_unreadable(self.access)
        files = narrow_unreadable(
            readable, sources=[source] if source else [], state=state if state in UNREADABLE_STATES else ""
        )
        context = {
            "list": list_page(self, request, files, ordering=("-at", "id")),
            "source": source,
            "sources": self._source_keys(readable, source),
            "state": state,
            "upload": SourceKind.UPLOAD,
            "may_change": CHANGE_SOURCES.allows(self.access),
        }
        return self.render(request, "ingest/quarantine.html", **context)

    def _source_keys(self, readable: Any, chosen: str) -> list[str]:
        """Return the keys of sources with such files, and the chosen one."""
        name = "version__source__key"
        keys = list(readable.order_by(name).values_list(name, flat=True).distinct()[:_SHOWN_SOURCES])
        return keys if not chosen or chosen in keys else [chosen, *keys]


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def retry_entry(page: PostAction, entry_id: int) -> HttpResponse:
    """Request the retry, and redirect to its job. Raises NotFound, JobNotOpen, RateLimited."""
    job = retry_unreadable(page.access, get_unreadable(page.access, entry_id))
    return page.finish(_("Trying again. The file stays in this list until it can be read."), "act", job.pk)


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def delete_entry(page: PostAction, entry_id: int) -> HttpResponse:
    """Delete the upload with its bytes. Raises NotFound, Conflict for a file of a synced source."""
    entry = get_unreadable(page.access, entry_id)
    delete_unreadable(page.access, entry)
    return page.finish(_("Deleted %(path)s.") % {"path": entry.path[:200]}, "quarantine")
