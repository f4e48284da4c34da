"""The page for uploads. With JavaScript each file is sent to the API by itself; without, all in one form."""

import logging
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from rest_framework.exceptions import ValidationError

from ingest.api.documents.parsers import UploadLimit, limit_upload
from ingest.api.documents.serializers import NewFile, upload_of
from ingest.api.documents.views import DocumentsView, accept
from ingest.api.querysets import readable_sources
from ingest.models import Job
from ingest.services.source_definition import UPLOADS, takes_uploads
from kebab.http.api.errors import InvalidRequest, known_errors
from kebab.http.api.problems import problem_of
from kebab.http.api.serializers import validated
from kebab.pages.page import ActingPage
from kebab.people.models import Workspace
from search.models import SourceKind

logger = logging.getLogger(__name__)

# Upload sources that are offered; others are named.
_SHOWN_SOURCES = 200


# The token is looked for in the form, which is read only once the sender is admitted: see `post`.
@method_decorator(csrf_exempt, name="dispatch")
class UploadPage(ActingPage):
    """Putting files in."""

    need = DocumentsView.required["POST"]
    tab = "sources"
    limits_body = True
    #: Counts what is sent.
    limit: UploadLimit

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the form; `source` is the one that is named at first, whether or not there is one yet."""
        keys = self._keys()
        context = {
            "sources": keys,
            "chosen": request.GET.get("source") or next(iter(keys), ""),
            "limit_bytes": settings.KEBAB_UPLOAD_LIMIT_BYTES,
            "archive_limit_bytes": settings.KEBAB_ARCHIVE_LIMIT_BYTES,
            "file_limit": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
        }
        return self.render(request, "ingest/upload.html", **context)

    def post(self, request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        """Admit the person and set the limits, then read the form. Raises TooLarge, NotFound, Forbidden."""
        workspace = self._admitted(request, slug)
        self.limit = limit_upload(request)
        try:
            return self.act(request, workspace, **kwargs)
        finally:
            self.limit.close()

    @method_decorator(csrf_protect)
    def act(self, request: HttpRequest, workspace: Workspace, **kwargs: Any) -> HttpResponse:
        """Take in each file; what is refused is told by its name. Raises TooLarge, InvalidRequest."""
        files = request.FILES.getlist("file")
        self.limit.check()
        if not files:
            raise InvalidRequest("No file was chosen; go back and choose one.")
        taken = [job for job in (self._take(request, file) for file in files) if job is not None]
        if not taken:
            return redirect("upload", workspace.slug)
        if len(taken) == 1:
            return redirect("job", workspace.slug, taken[0].pk)
        messages.success(request, f"{len(taken)} files are being read; each has a job.")
        return redirect("jobs", workspace.slug)

    def _take(self, request: HttpRequest, file: Any) -> Job | None:
        """Return the job that reads `file`; None, and a message, when it is refused."""
        folder = request.POST.get("folder", "").strip("/")
        given = {"file": file, "source": request.POST.get("source") or UPLOADS}
        if folder:
            given["path"] = f"{folder}/{file.name}"
        try:
            return accept(self.access, upload_of(validated(NewFile, given))).job
        except (*known_errors(), ValidationError) as error:
            logger.info("an upload was refused: %s", type(error).__name__)
            problem = problem_of(error)
            messages.error(request, f"{file.name[:200]}: {problem.detail if problem else error}")
            return None

    def _keys(self) -> list[str]:
        """Return the keys that are offered, the one for what names none first if it is to be had."""
        areas = readable_sources(self.access).filter(kind=SourceKind.UPLOAD).exclude(key=UPLOADS)
        keys = areas.order_by("key").values_list("key", flat=True)[:_SHOWN_SOURCES]
        has_default = takes_uploads(self.access.workspace, self.access.reader, UPLOADS)
        return [*([UPLOADS] if has_default else []), *keys]
