"""The upload page. With JavaScript each file is sent to the API separately, without all in one form."""

import json
import logging
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from rest_framework.exceptions import ValidationError

from ingest.api.documents.serializers import NewFile, UploadLimit, build_upload, limit_upload
from ingest.api.documents.views import DocumentsView, submit_upload
from ingest.api.querysets import readable_sources
from ingest.models import Job
from ingest.services.source_definition import UPLOADS, accepts_uploads
from ingest.skip_messages import REASONS, explanations
from kebab.errors import InvalidRequest, known_errors
from kebab.http.api.problems import problem_of
from kebab.http.api.serializers import validate_fields
from kebab.identity.models import Workspace
from kebab.pages.page import ActionPage
from search.models import SourceKind

logger = logging.getLogger(__name__)

# The most upload sources offered as choices; others can be typed.
_SHOWN_SOURCES = 200


def _script_words() -> dict[str, str]:
    """Return the texts of the page's script."""
    return {
        "added": _("{n} of {all} added"),
        "refused": _("{n} not added"),
        "unknown": _("{n} sent, result unknown"),
        "left": _("{n} left"),
        "done": _("{n} added"),
        "state-added": _("Added"),
        "state-refused": _("Not added"),
        "state-unknown": _("Sent"),
        "details": _("Details"),
        "sending": _("Sending"),
        "queued": _("Waiting to be read"),
        "busy": _("Waiting for the server"),
        "reading": _("Reading"),
        "part": _("{n} of {all} read"),
        "documents": _("{n} documents."),
        "large": _("The file has {size}; the limit is {limit}. Split it."),
        "broken": _("The connection was lost. Upload it again."),
        "status": _("The server answered {status}."),
        "unreadable": _("The file can’t be read: {error}"),
        "unseen": _("The result is no longer available here."),
        **{f"reason-{reason}": _(text) for reason, text in explanations(REASONS).items()},
    }


# The CSRF token is in the form, which is read only after authentication and authorisation: see `post`.
@method_decorator(csrf_exempt, name="dispatch")
class UploadPage(ActionPage):
    """The page that uploads files."""

    need = DocumentsView.required["POST"]
    tab = "sources"
    limits_body = True
    #: Counts and limits the bytes sent.
    limit: UploadLimit

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the form; the parameter `source` preselects a source, which need not exist yet."""
        areas = readable_sources(self.access).filter(kind=SourceKind.UPLOAD).exclude(key=UPLOADS)
        listed = areas.order_by("key").values_list("key", flat=True)[:_SHOWN_SOURCES]
        has_default = accepts_uploads(self.access.workspace, self.access.reader, UPLOADS)
        keys = [*([UPLOADS] if has_default else []), *listed]
        context = {
            "sources": keys,
            "chosen": request.GET.get("source") or next(iter(keys), ""),
            "has_chosen": "source" in request.GET,
            "words": json.dumps(_script_words()),
            "limit_bytes": settings.KEBAB_UPLOAD_LIMIT_BYTES,
            "archive_limit_bytes": settings.KEBAB_ARCHIVE_LIMIT_BYTES,
            "file_limit": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
        }
        return self.render(request, "ingest/upload.html", **context)

    def post(self, request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        """Admit the person and set the limits, then read the form. Raises TooLarge, NotFound, Forbidden."""
        workspace = self._admit(request, slug)
        self.limit = limit_upload(request)
        try:
            return self.act(request, workspace, **kwargs)
        finally:
            self.limit.close()

    @method_decorator(csrf_protect)
    def act(self, request: HttpRequest, workspace: Workspace, **kwargs: Any) -> HttpResponse:
        """Submit each file; a message names each refused one. Raises TooLarge, InvalidRequest."""
        files = request.FILES.getlist("file")
        self.limit.check()
        if not files:
            raise InvalidRequest(_("Choose at least one file."))
        first: Job | None = None
        for file in files:
            job = self._submit_file(request, file, first)
            first = first or job
        return (
            redirect("upload", workspace.slug) if first is None else redirect("act", workspace.slug, first.pk)
        )

    def _submit_file(self, request: HttpRequest, file: Any, first: Job | None) -> Job | None:
        """Submit `file` to the act of `first` and return its job; if it is refused, add a message."""
        folder = request.POST.get("folder", "").strip("/")
        given = {"file": file, "source": request.POST.get("source") or UPLOADS}
        if first is not None:
            given["batch"] = first.pk
        if folder:
            given["path"] = f"{folder}/{file.name}"
        refusals: tuple[type[Exception], ...] = (*known_errors(), ValidationError)
        try:
            return submit_upload(self.access, build_upload(validate_fields(NewFile, given))).job
        except refusals as error:
            logger.info("an upload was refused: %s", type(error).__name__)
            problem = problem_of(error)
            detail = problem.detail if problem else str(error)
            messages.error(request, ": ".join((file.name[:200], detail)))
            return None
