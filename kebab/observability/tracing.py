"""Traces by OpenTelemetry, if its SDK is installed and `OTEL_EXPORTER_OTLP_ENDPOINT` is set; else no-ops.

The SDK (deploy/requirements-telemetry.txt) is imported by `begin` alone: in a process without an endpoint a
span costs one check of a variable. No span carries a query, a document's text or name, or a person.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from kebab.runtime.role import own_role

#: The value of a span's attribute.
Attribute = str | int | float | bool

_NOTHING: Final[AbstractContextManager[None]] = nullcontext()
_tracing: Any = None


def begin() -> None:
    """Start tracing in this process, if it is configured; a forked child must call it again."""
    global _tracing
    from kebab.observability.telemetry import create_tracing  # settings are ready once a process begins

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
