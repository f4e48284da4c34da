"""What is made smaller on its way to browsers: static files of text, and nothing else.

Pages reflect what was typed beside the secrets of forms, and how small such an answer becomes would tell of
both (Gluck, Harris, Prado, BREACH, 2013). Static files hold no secret.
"""

from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.templatetags.static import PrefixNode

_TEXTS: Final = ("text/", "application/javascript", "application/json", "image/svg+xml")


class CompressStaticFiles(GZipMiddleware):
    """Middleware; it must stand before what serves the files."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the answer, compressed if it is a whole static file of text and the browser takes that."""
        return super().process_response(request, response) if _is_text_file(request, response) else response


def _is_text_file(request: HttpRequest, response: HttpResponseBase) -> bool:
    is_file = request.method == "GET" and request.path.startswith(PrefixNode.handle_simple("STATIC_URL"))
    return is_file and response.status_code == 200 and response["Content-Type"].startswith(_TEXTS)
