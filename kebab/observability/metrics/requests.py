"""Counts and durations of requests by route; a route covers many addresses, so the series stay few."""

import logging
import time
from collections.abc import Callable

from django.db import connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.middleware import Middleware
from kebab.observability.metrics.instruments import Counter, Gauge, Histogram

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Time between two updates of the pool's gauges.
_POOL_PERIOD_S = 1.0

REQUESTS = Counter("kebab_http_requests_total", "Total number of HTTP requests.", "method", "route", "status")
SECONDS = Histogram(
    "kebab_http_request_seconds",
    "Time until the response starts, in seconds.",
    "method",
    "route",
    bounds=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
UNDER_WAY = Gauge("kebab_http_requests_under_way", "Number of requests being processed by threads.")
POOL = Gauge("kebab_database_pool", "Number of database connections by state.", "state")
CONNECTED = Gauge("kebab_database_pool_connecting_seconds", "Total time spent connecting, in seconds.")

access_log = logging.getLogger("kebab.access")


class MeasureRequests(Middleware):
    """Middleware that measures requests; it comes early in the list, so that it measures the others too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self._looked_at = float("-inf")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request and count the response."""
        began = time.perf_counter()
        UNDER_WAY.add(amount=1)
        try:
            response = self._get_response(request)
        finally:
            UNDER_WAY.add(amount=-1)
        match = request.resolver_match
        route = match.route if match is not None else "none"
        count_response(str(request.method), route, response.status_code, began)
        self._update_pool_gauges()
        return response

    def _update_pool_gauges(self) -> None:
        now = time.monotonic()
        if now - self._looked_at > _POOL_PERIOD_S:
            self._looked_at = now
            update_pool_gauges()


def count_response(method: str, route: str, status: int, began: float) -> None:
    """Count and log the response to a request; `began` is its start by `time.perf_counter`."""
    method_label = method if method in _METHODS else "other"
    took_s = time.perf_counter() - began
    REQUESTS.add(method_label, route, str(status))
    SECONDS.observe(took_s, method_label, route)
    access_log.info("%s %s %d in %.1f ms", method_label, route, status, took_s * 1000)


def update_pool_gauges() -> None:
    """Set the gauges of this process's connection pool."""
    pool = getattr(connection, "pool", None)
    if pool is None:
        return
    use = pool.usage()
    POOL.set(use.idle, "idle")
    POOL.set(use.in_use, "in_use")
    POOL.set(use.connecting, "connecting")
    CONNECTED.set(use.connected_for_s)
