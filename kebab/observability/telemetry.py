"""OpenTelemetry's SDK, as `kebab.observability.tracing` uses it; imported where traces are taken alone."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings

import kebab
from kebab.runtime import shutdown

logger = logging.getLogger(__name__)

_PARENT: Final = "traceparent"
_FLUSH_LIMIT_MS: Final = 3_000


def tracing_of(role: str) -> "Tracing | None":
    """Return what takes traces in a process of this role; None where it isn't configured or installed."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return None
    try:
        provider = _provider(role)
    except ImportError as error:
        logger.warning("no traces are taken: install deploy/requirements-telemetry.txt (%s)", error)
        return None
    taking = Tracing(provider)
    shutdown.register(taking.flush)
    return taking


class Tracing:
    """Takes spans of one process."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("kebab", kebab.__version__)
        self._written = TraceContextTextMapPropagator()
        self._trace = trace

    @contextmanager
    def span(self, name: str, cause: str, attributes: Mapping[str, Any]) -> Iterator[None]:
        """Record what is inside; of an error its type alone: what it says may quote a document."""
        around = self._written.extract({_PARENT: cause}) if cause else None
        with self._tracer.start_as_current_span(
            name, around, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as error:
                span.set_status(self._trace.StatusCode.ERROR)
                span.set_attribute("error.type", type(error).__qualname__)
                raise

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Add to the span around."""
        self._trace.get_current_span().set_attributes(dict(attributes))

    def traceparent(self) -> str:
        """Name the span around."""
        carrier: dict[str, str] = {}
        self._written.inject(carrier)
        return carrier.get(_PARENT, "")

    def flush(self) -> None:
        """Send what waits, for a few seconds at most."""
        self._provider.force_flush(_FLUSH_LIMIT_MS)


def _provider(role: str) -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    known = {
        "service.name": "kebab",
        "service.version": kebab.__version__,
        "service.instance.id": settings.KEBAB_NODE_ID,
        "kebab.role": role,
    }
    provider = TracerProvider(resource=Resource.create(known))
    endpoint = f"{settings.OTEL_EXPORTER_OTLP_ENDPOINT.rstrip('/')}/v1/traces"
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider
