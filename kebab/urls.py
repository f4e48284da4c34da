"""The URL table, the composition root of the apps. No other `kebab` module imports `search` or `ingest`."""

from typing import Any

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from kebab.admin.site import site
from kebab.health.views import StatusView
from kebab.http.admission.fair_queue import Usage
from kebab.http.api.openapi_document import AgentDocumentView, DocumentView
from kebab.pages.styles_page import styles_page

api: list[URLPattern | URLResolver] = [
    path("", include("search.api.urls")),
    path("", include("ingest.api.urls")),
    path("", include("kebab.people.api.urls")),
    path("", include("kebab.webhooks.api")),
    path("status", StatusView.as_view(), name="api-status"),
]

urlpatterns = [
    path("api/v1/", include(api)),  # first: a URL is compared with the patterns before its own
    path("", include("kebab.health.views")),
    path("", include("kebab.accounts.urls")),
    path("", include("kebab.people.pages.urls")),
    path("", include("kebab.webhooks.pages")),
    path("", include("kebab.people.oauth.endpoints")),
    path("", include("search.pages.urls")),
    path("", include("ingest.pages.urls")),
    path("", include("ingest.pages.evaluation.urls")),
    path("styles", styles_page.as_view(), name="styles"),
    path("api/schema/agent/", AgentDocumentView.as_view(), name="schema-agent"),
    path("api/schema/", DocumentView.as_view(), name="schema"),
    path("api/docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
    path("admin/", site.urls),
]

handler400 = "kebab.http.api.problems.bad_request"
handler403 = "kebab.http.api.problems.permission_denied"
handler404 = "kebab.http.api.problems.page_not_found"
handler500 = "kebab.http.api.problems.server_error"


def create_mcp_endpoint(usage: Usage) -> Any:
    """Return a new ASGI application for `/mcp`, which the URL table doesn't serve, and which charges `usage`.

    The SDK takes 0.9 s and 27 MB to import: a web process does so on the first request.
    """
    from search.mcp.http import McpEndpoint

    return McpEndpoint(usage)
