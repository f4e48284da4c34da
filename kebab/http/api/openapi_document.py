"""The view of the OpenAPI document, which is the same for all callers and as long as the process lives."""

from functools import cache
from typing import Any

from django.http import HttpResponse
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request


class DocumentView(SpectacularAPIView):
    """The document as YAML or JSON; rendered once per process and format, because that takes a second."""

    def _get_schema_response(self, request: Request) -> HttpResponse:
        renderer = request.accepted_renderer
        filename = self._get_filename(request, None)  # type: ignore[no-untyped-call]  # drf-spectacular has no types
        return HttpResponse(
            _render_document(type(renderer)),  # type: ignore[arg-type]  # mypy thinks that classes have no hash
            content_type=renderer.media_type,
            headers={"Content-Disposition": f'inline; filename="{filename}"'},
        )


@cache
def _render_document(renderer: type[Any]) -> bytes:
    generator = DocumentView.generator_class(urlconf=DocumentView.urlconf, api_version=None, patterns=None)
    document = generator.get_schema(request=None, public=True)
    text = renderer().render(document, renderer_context={})
    return text if isinstance(text, bytes) else str(text).encode()
