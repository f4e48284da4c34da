"""A document's bytes over HTTP, served so that no browser runs them, as they are untrusted."""

import re
from pathlib import PurePosixPath
from typing import Final

from django.http import FileResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from search.corpus.blobs import open_blob
from search.models import Document

_TEXT = re.compile(r"text/[a-z0-9][a-z0-9.+-]*")
#: The responses of `content_response` as a view describes them.
CONTENT_RESPONSES: Final = {
    (200, "application/octet-stream"): OpenApiTypes.BINARY,
    (200, "text/*"): OpenApiTypes.STR,
    304: None,
}
# Types that a browser would run or apply, not only show.
_ACTIVE = {"text/html", "text/xml", "text/javascript", "text/ecmascript", "text/css"}


def content_response(request: Request, document: Document) -> HttpResponseBase:
    """Return the document's bytes, or 304 if the client has them. Raises FileNotFoundError."""
    etag = f'"{document.content_hash}"'
    response = get_conditional_response(request, etag=etag) or _download(document)
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    return response


def safe_content_type(mime: str) -> str:
    """Return the content type to serve bytes of type `mime` as: passive text, or bytes to save."""
    if not _TEXT.fullmatch(mime):
        return "application/octet-stream"
    return f"{'text/plain' if mime in _ACTIVE else mime}; charset=utf-8"


def _download(document: Document) -> FileResponse:
    return FileResponse(
        open_blob(document.workspace_id, document.content_hash),
        as_attachment=True,
        filename=PurePosixPath(document.path).name,
        content_type=safe_content_type(document.mime),
        headers={
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; sandbox",
        },
    )
