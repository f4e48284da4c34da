"""Traces by OpenTelemetry, if its SDK is installed and `OTEL_EXPORTER_OTLP_ENDPOINT` is set; else no-ops.

The SDK (deploy/requirements-telemetry.txt) is imported by `begin` alone: in a process without an endpoint a
span costs one check of a variable. No span carries a query, a document's text or name, or a person.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from django.conf import settings

import kebab
from kebab.runtime.role import own_role

logger = logging.getLogger(__name__)

_PARENT: Final = "traceparent"
_FLUSH_LIMIT_MS: Final = 3_000


def create_tracing(role: str) -> "Tracing | None":
    """Create the tracing of a process with this role; return None if it isn't configured or installed."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return None
    try:
        provider = _create_provider(role)
    except ImportError as error:
        logger.warning("no traces are taken: install deploy/requirements-telemetry.txt (%s)", error)
        return None
    return Tracing(provider)


class Tracing:
    """The spans of one process."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("kebab", kebab.__version__)
        self._propagator = TraceContextTextMapPropagator()
        self._trace = trace

    @contextmanager
    def span(self, name: str, cause: str, attributes: Mapping[str, Any]) -> Iterator[None]:
        """Record a span for the block; of an error only its type, as its message may quote a document."""
        around = self._propagator.extract({_PARENT: cause}) if cause else None
        with self._tracer.start_as_current_span(
            name, around, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as error:
                span.set_status(self._trace.StatusCode.ERROR)
                span.set_attribute("error.type", type(error).__qualname__)
                raise

    def add_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes to the current span."""
        self._trace.get_current_span().set_attributes(dict(attributes))

    def traceparent(self) -> str:
        """Return the current span's `traceparent`; '' without one."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier.get(_PARENT, "")

    def flush(self) -> None:
        """Send all unsent spans, within three seconds."""
        self._provider.force_flush(_FLUSH_LIMIT_MS)


def _create_provider(role: str) -> Any:
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


#: The value of a span's attribute.
Attribute = str | int | float | bool

_NOTHING: Final[AbstractContextManager[None]] = nullcontext()
_tracing: Any = None


def begin() -> None:
    """Start tracing in this process, if it is configured; a forked child must call it again."""
    global _tracing
    _tracing = create_tracing(own_role())


def flush() -> None:
    """Send all unsent spans."""
    if _tracing is not None:
        _tracing.flush()


def span(name: str, *, cause: str = "", **attributes: Attribute) -> AbstractContextManager[Any]:
    """Record a span for the block, a child of the current span or of the `traceparent` given as `cause`."""
    return _NOTHING if _tracing is None else _tracing.span(name, cause, attributes)


def add_attributes(**attributes: Attribute) -> None:
    """Add attributes to the current span."""
    if _tracing is not None:
        _tracing.add_attributes(attributes)


def traceparent() -> str:
    """Return the current span's `traceparent` (W3C Trace Context); '' without one."""
    return "" if _tracing is None else _tracing.traceparent()
