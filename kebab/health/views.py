"""Views of `/healthz /readyz /metrics /version /status` for probes and operators, without any tenant's data.

Under ASGI `probes` answers the first three.
"""

import platform
from collections.abc import Callable
from typing import Any, Final

import redis
from django.db import DatabaseError
from django.http import HttpResponse
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import kebab
from kebab.contributions import contributions
from kebab.errors import Forbidden
from kebab.health.metrics_access import may_read
from kebab.health.responses import Reply, health_reply, metrics_reply, readiness_reply
from kebab.http.api.views import ApiView, SingleFormatNegotiation
from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES, StackConfiguration
from kebab.stack.nodes.registry import FRESH_S, processes_with_age
from kebab.stack.servers.versions import (
    Version,
    format_version,
    pgvector_version,
    postgres_version,
    sqlite_version,
)
from kebab.stack.supervisor.state import StackState, running_state
from kebab.stack.supervisor.watchdog import queue_lengths
from kebab.tenancy.current_workspace import acting_everywhere


@extend_schema(exclude=True)
class _OpenView(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    content_negotiation_class = SingleFormatNegotiation
    metadata_class = None


class ReplyView(_OpenView):
    """A reply to a probe."""

    #: Returns the reply to a request; if none is named, that this process answers.
    reply: Callable[[Request], Reply] = staticmethod(lambda request: health_reply())

    def get(self, request: Request) -> HttpResponse:
        """Return the reply."""
        reply = self.reply(request)
        return HttpResponse(
            reply.body, status=reply.status, content_type=reply.content_type, headers=dict(reply.headers)
        )


class VersionView(_OpenView):
    """Versions of Kebab and its servers."""

    def get(self, request: Request) -> Response:
        """Return Kebab's version; all versions to clients that may read metrics, null for unknown ones."""
        if not may_read(**_access_arguments(request)):
            return Response({"version": kebab.__version__})
        versions: dict[str, Any] = {
            "version": kebab.__version__,
            "python": platform.python_version(),
            "sqlite": format_version(sqlite_version()),
            "postgres": _query_version(postgres_version),
            "pgvector": _query_version(pgvector_version),
        }
        return Response(versions)


class StatusView(ApiView):
    """The state of the stack."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """Return `status.v1`: processes, queues, and the reports of the apps. For operators only."""
        user = None if self.caller.personal_token else self.caller.user
        if self.caller.operator is None and not (user is not None and user.is_superuser):
            raise Forbidden("Only an operator may see the state of the stack.")
        with acting_everywhere():
            return Response(build_listing(StackConfiguration.from_settings()))


def _access_arguments(request: Request) -> dict[str, Any]:
    """Return the arguments of `may_read` for a request."""
    return {
        "peer": request.META.get("REMOTE_ADDR", ""),
        "authorization": request.headers.get("Authorization", ""),
        "is_forwarded": "X-Forwarded-For" in request.headers,
    }


def _query_version(query: Callable[[], Version | None]) -> str | None:
    try:
        version = query()
    except DatabaseError:
        return None
    return format_version(version) if version is not None else None


# What the supervisor and the servers lack: they have no heartbeat.
_NO_HEARTBEAT: Final = {"heartbeat_age_s": None, "slots": None, "busy": None, "queues": ()}


def build_listing(configuration: StackConfiguration) -> dict[str, Any]:
    """Build the document of `kebab status --json` from the state file, Postgres, Redis and the apps.

    The servers have to run. `queues`: waiting messages by name, None when Redis does not answer.
    """
    state = running_state(configuration.directory.path)
    heartbeat_rows = _process_rows()
    # With external servers there may be no supervisor: systemd units or containers run the processes.
    is_running = state is not None or (not configuration.has_embedded_postgres and bool(heartbeat_rows))
    try:
        queues = queue_lengths(configuration.redis_url, (*WORKER_QUEUES, *EMBED_QUEUES))
    except redis.RedisError:
        queues = None
    return {
        "schema_version": "status.v1",
        "node": configuration.node_id,
        "url": "" if state is None else state.url,
        "is_running": is_running,
        "processes": [*([] if state is None else _server_rows(state)), *heartbeat_rows],
        "queues": queues,
        "reports": {name: report() for name, report in contributions("status_sections")},
    }


def _server_rows(state: StackState) -> list[dict[str, Any]]:
    """Return the supervisor and the embedded servers of this node."""
    servers = [(each.name, each.mark) for each in state.processes if each.name in {"postgres", "redis"}]
    return [
        {"name": name, "role": name, "node": state.node, "pid": mark.pid, "is_alive": mark.is_alive()}
        | _NO_HEARTBEAT
        for name, mark in [("supervisor", state.supervisor), *servers]
    ]


def _process_rows() -> list[dict[str, Any]]:
    return [
        {
            "name": row.name,
            "role": row.role,
            "node": row.node,
            "pid": row.pid,
            "is_alive": row.age.total_seconds() < FRESH_S,
            "heartbeat_age_s": round(row.age.total_seconds(), 1),
            "slots": row.slots,
            "busy": row.busy,
            "queues": row.queues,
        }
        for row in processes_with_age().order_by("node", "role", "name", "pid")
    ]


def _metrics(request: Request) -> Reply:
    return metrics_reply(**_access_arguments(request))


urlpatterns = [
    path("healthz", ReplyView.as_view(), name="healthz"),
    # `kebab doctor` explains the failed checks.
    path("readyz", ReplyView.as_view(reply=lambda request: readiness_reply()), name="readyz"),
    path("metrics", ReplyView.as_view(reply=_metrics), name="metrics"),
    path("version", VersionView.as_view(), name="version"),
]
