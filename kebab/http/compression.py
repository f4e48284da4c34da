"""Middleware that gzips static text files, and no pages.

Pages reflect user input next to the secrets of forms, and the compressed size of such a page would leak
those secrets (Gluck, Harris, Prado, BREACH, 2013). Static files hold no secret.
"""

from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.templatetags.static import PrefixNode

_TEXTS: Final = ("text/", "application/javascript", "application/json", "image/svg+xml")


class CompressStaticFiles(GZipMiddleware):
    """Middleware that compresses static text files; it must come before the one that serves them."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the response, compressed if it is a whole static text file and the browser accepts gzip."""
        return super().process_response(request, response) if _is_text_file(request, response) else response


def _is_text_file(request: HttpRequest, response: HttpResponseBase) -> bool:
    is_file = request.method == "GET" and request.path.startswith(PrefixNode.handle_simple("STATIC_URL"))
    return is_file and response.status_code == 200 and response["Content-Type"].startswith(_TEXTS)
