"""The page of the quarantine, and the actions on a quarantined file."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from ingest.api.quarantine import QuarantineView
from ingest.api.querysets import get_quarantined, readable_quarantine, source_condition
from ingest.jobs.items.quarantine import KILLED, REASON
from ingest.pages.rights import CHANGE, is_allowed
from ingest.services.quarantine import delete_quarantined, retry_quarantined
from ingest.skip_messages import explanations
from kebab.pages.page import PostAction, WorkspacePage
from kebab.pages.pagination import list_page
from kebab.people.models import Workspace
from search.models import SourceKind

_TAB = "jobs"
_REASONS = (REASON, KILLED)


class QuarantinePage(WorkspacePage):
    """The files that every parser failed on."""

    need = QuarantineView.required["GET"]
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the list, the latest first, filtered by `source` (key or id) and `reason`."""
        source, reason = request.GET.get("source", "")[:63], request.GET.get("reason", "")
        files = readable_quarantine(self.access)
        if source:
            files = files.filter(source_condition([source], "version__source"))
        if reason in _REASONS:
            files = files.filter(reason=reason)
        words = explanations(_REASONS)
        context = {
            "list": list_page(self, request, files, ordering=("-at", "id")),
            "source": source,
            "reason": reason,
            "reasons": words.items(),
            "upload": SourceKind.UPLOAD,
            "may_change": is_allowed(self.access, CHANGE),
        }
        return self.render(request, "ingest/quarantine.html", **context)


class QuarantineRetry(PostAction):
    """Retry of a quarantined file."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, entry_id: int) -> HttpResponse:
        """Request the retry, and redirect to its job. Raises NotFound, JobNotOpen, RateLimited."""
        job = retry_quarantined(self.access, get_quarantined(self.access, entry_id))
        messages.success(request, "The file is tried again; it stays in quarantine until that succeeds.")
        return redirect("job", workspace.slug, job.pk)


class QuarantineDelete(PostAction):
    """Deletion of a quarantined upload."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, entry_id: int) -> HttpResponse:
        """Delete the upload with its bytes. Raises NotFound, Conflict for a file of a synced source."""
        entry = get_quarantined(self.access, entry_id)
        delete_quarantined(self.access, entry)
        messages.success(request, f"{entry.path[:200]} is forgotten.")
        return redirect("quarantine", workspace.slug)
