"""`/healthz /readyz /metrics /version`: for probes and operators. No credentials, nothing of any tenant."""

import platform
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import kebab
from kebab.api.errors import ServiceUnavailable
from kebab.api.views import OnlyFormat
from kebab.health.checks import CheckStatus
from kebab.health.metrics import metrics_text
from kebab.health.server_checks import check_migrations, check_postgres, check_redis
from kebab.health.versions import Version, pgvector_version, postgres_version, show_version, sqlite_version

_READY = (check_postgres, check_redis, check_migrations)


@extend_schema(exclude=True)
class _OpenView(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    content_negotiation_class = OnlyFormat
    metadata_class = None


class HealthView(_OpenView):
    """Whether this process answers at all."""

    def get(self, request: Request) -> Response:
        """Say so."""
        return Response({"status": "ok"})


class ReadyView(_OpenView):
    """Whether this process can do its work: a load balancer's question."""

    def get(self, request: Request) -> Response:
        """Say so. Raises ServiceUnavailable naming what isn't ready; why is `kebab doctor`'s to tell."""
        results = [check() for check in _READY]
        failed = [result.name for result in results if result.status is CheckStatus.FAILED]
        if failed:
            raise ServiceUnavailable(f"Not ready: {', '.join(failed)}.", code="not_ready")
        return Response({"status": "ready"})


class MetricsView(_OpenView):
    """Metrics of this process for Prometheus."""

    def get(self, request: Request) -> HttpResponse:
        """Give them in the text format."""
        return HttpResponse(metrics_text(), content_type=CONTENT_TYPE_LATEST)


class VersionView(_OpenView):
    """What runs here."""

    def get(self, request: Request) -> Response:
        """Give the versions; null for what can't be asked at the moment."""
        versions: dict[str, Any] = {
            "version": kebab.__version__,
            "python": platform.python_version(),
            "sqlite": show_version(sqlite_version()),
            "postgres": _asked(postgres_version),
            "pgvector": _asked(pgvector_version),
        }
        return Response(versions)


def _asked(ask: Callable[[], Version | None]) -> str | None:
    try:
        version = ask()
    except DatabaseError:
        return None
    return show_version(version) if version is not None else None
