"""Traces by OpenTelemetry, where its SDK is installed and `OTEL_EXPORTER_OTLP_ENDPOINT` is set; else nothing.

The SDK (deploy/requirements-telemetry.txt) is imported by `begin` alone: a process without an endpoint pays
for a span with one look at a variable. No span carries a query, a document's text or name, or a person.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from kebab.runtime.role import own_role

#: What a span may say, by name.
Attribute = str | int | float | bool

_NOTHING: Final[AbstractContextManager[None]] = nullcontext()
_tracing: Any = None


def begin() -> None:
    """Take traces in this process from now on, if it is configured; a forked child begins by itself."""
    global _tracing
    from kebab.observability.telemetry import tracing_of  # settings are there once a process begins

    _tracing = tracing_of(own_role())


def end() -> None:
    """Send what has not been sent."""
    if _tracing is not None:
        _tracing.flush()


def span(name: str, *, cause: str = "", **attributes: Attribute) -> AbstractContextManager[Any]:
    """Record what is inside, as caused by what is around it, or by the `traceparent` given as `cause`."""
    return _NOTHING if _tracing is None else _tracing.span(name, cause, attributes)


def note(**attributes: Attribute) -> None:
    """Have the span around say this as well."""
    if _tracing is not None:
        _tracing.note(attributes)


def traceparent() -> str:
    """Return what names the span around to others, as W3C's Trace Context writes it; '' without one."""
    return "" if _tracing is None else _tracing.traceparent()
