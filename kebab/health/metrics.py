"""Counts and times requests for Prometheus.

Each web process counts for itself and puts its pid on every sample, so that a scrape that meets now one, now
another process sees several steady series and not one that jumps.
"""

import os
import time
from collections.abc import Callable, Iterator

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import REGISTRY, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

_LABELS = ("method", "route")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

REQUESTS = Counter("kebab_http_requests", "Requests answered.", (*_LABELS, "status"))
SECONDS = Histogram(
    "kebab_http_request_seconds",
    "Time until the answer began.",
    _LABELS,
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)


class MeasureRequests:
    """Middleware; among the first in the list, so that it measures the others too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer and count. A route stands for all its addresses, so that the series stay few."""
        began = time.perf_counter()
        response = self._get_response(request)
        match = request.resolver_match
        route = match.route if match is not None else "none"
        count_answer(str(request.method), route, response.status_code, began)
        return response


def count_answer(method: str, route: str, status: int, began: float) -> None:
    """Count an answer to a request that began when `time.perf_counter` said `began`."""
    known = method if method in _METHODS else "other"
    REQUESTS.labels(known, route, status).inc()
    SECONDS.labels(known, route).observe(time.perf_counter() - began)


class _OfThisProcess(Collector):
    def collect(self) -> Iterator[Metric]:
        pid = str(os.getpid())
        for metric in REGISTRY.collect():
            metric.samples = [
                sample._replace(labels={**sample.labels, "pid": pid}) for sample in metric.samples
            ]
            yield metric


def metrics_text() -> bytes:
    """Give all metrics of this process in Prometheus' text format."""
    return generate_latest(_OfThisProcess())  # type: ignore[arg-type]  # it only calls collect()
