"""The page of the quarantine, and the acts on one file in it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from ingest.api.quarantine import QuarantineView
from ingest.api.querysets import named_sources, one_quarantined, readable_quarantine
from ingest.jobs.items.quarantine import KILLED, REASON
from ingest.pages.rights import CHANGE, may
from ingest.services.quarantine import forget_quarantined, retry_quarantined
from ingest.skip_messages import explanations
from kebab.pages.page import Act, WorkspacePage
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
        """Return the list, the latest first, narrowed to a `source` (key or id) and a `reason`."""
        source, reason = request.GET.get("source", "")[:63], request.GET.get("reason", "")
        files = readable_quarantine(self.access)
        if source:
            files = files.filter(named_sources([source], "version__source"))
        if reason in _REASONS:
            files = files.filter(reason=reason)
        words = explanations(_REASONS)
        context = {
            "list": list_page(self, request, files, ordering=("-at", "id")),
            "source": source,
            "reason": reason,
            "reasons": words.items(),
            "upload": SourceKind.UPLOAD,
            "may_change": may(self.access, CHANGE),
        }
        return self.render(request, "ingest/quarantine.html", **context)


class QuarantineRetry(Act):
    """Reading a quarantined file once more."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, entry_id: int) -> HttpResponse:
        """Ask for it, and go to the job. Raises NotFound, JobNotOpen, RateLimited."""
        job = retry_quarantined(self.access, one_quarantined(self.access, entry_id))
        messages.success(request, "The file is tried again; it stays in quarantine until that succeeds.")
        return redirect("job", workspace.slug, job.pk)


class QuarantineDelete(Act):
    """Forgetting an upload in quarantine."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, entry_id: int) -> HttpResponse:
        """Forget it with its bytes. Raises NotFound, Conflict for a file of a source that is synced."""
        entry = one_quarantined(self.access, entry_id)
        forget_quarantined(self.access, entry)
        messages.success(request, f"{entry.path[:200]} is forgotten.")
        return redirect("quarantine", workspace.slug)
