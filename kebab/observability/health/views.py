"""`/healthz /readyz /metrics /version`: for probes and operators. Nothing of any tenant.

The first three are answered by `probes` wherever requests come in by ASGI.
"""

import platform
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import kebab
from kebab.http.api.views import OnlyFormat
from kebab.observability.health.responses import Reply, healthy, measured, ready
from kebab.observability.health.versions import (
    Version,
    pgvector_version,
    postgres_version,
    show_version,
    sqlite_version,
)
from kebab.observability.metrics.access import may_read


@extend_schema(exclude=True)
class _OpenView(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    content_negotiation_class = OnlyFormat
    metadata_class = None


class HealthView(_OpenView):
    """Whether this process answers at all."""

    def get(self, request: Request) -> HttpResponse:
        """Say so."""
        return _answer(healthy())


class ReadyView(_OpenView):
    """Whether this process can do its work: a load balancer's question."""

    def get(self, request: Request) -> HttpResponse:
        """Say so, and what isn't well; why is `kebab doctor`'s to tell."""
        return _answer(ready())


class MetricsView(_OpenView):
    """Metrics of this node's processes for Prometheus."""

    def get(self, request: Request) -> HttpResponse:
        """Return them in the text format."""
        return _answer(measured(**_who(request)))


class VersionView(_OpenView):
    """What runs here."""

    def get(self, request: Request) -> Response:
        """Return the versions, of all parts to who may read metrics; null for what can't be asked now."""
        if not may_read(**_who(request)):
            return Response({"version": kebab.__version__})
        versions: dict[str, Any] = {
            "version": kebab.__version__,
            "python": platform.python_version(),
            "sqlite": show_version(sqlite_version()),
            "postgres": _asked(postgres_version),
            "pgvector": _asked(pgvector_version),
        }
        return Response(versions)


def _who(request: Request) -> dict[str, Any]:
    """Return who asks, as `may_read` is told it."""
    return {
        "peer": request.META.get("REMOTE_ADDR", ""),
        "authorization": request.headers.get("Authorization", ""),
        "is_forwarded": "X-Forwarded-For" in request.headers,
    }


def _asked(ask: Callable[[], Version | None]) -> str | None:
    try:
        version = ask()
    except DatabaseError:
        return None
    return show_version(version) if version is not None else None


def _answer(reply: Reply) -> HttpResponse:
    return HttpResponse(
        reply.body, status=reply.status, content_type=reply.content_type, headers=dict(reply.headers)
    )
