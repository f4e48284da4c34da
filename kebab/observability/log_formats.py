"""Log configuration, fields and formatters: lines for people, or one JSON object per line for collectors.

The workspace is that of `kebab.tenancy.current_workspace`. Threads of `context_executor` inherit all fields.
"""

import json
import logging
import os
import re
import traceback
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

from kebab.runtime.role import own_role
from kebab.tenancy.current_workspace import EVERYWHERE, NOWHERE, workspace_setting

#: The header for the request id that a client proposes, and that a response reports.
REQUEST_ID_HEADER: Final = "X-Request-ID"

_REQUEST_ID: Final = re.compile(r"\A[A-Za-z0-9._-]{1,64}\Z")
_NOTHING: Final[Mapping[str, str | int]] = MappingProxyType({})
_context: ContextVar[Mapping[str, str | int]] = ContextVar("kebab_log_context", default=_NOTHING)


@contextmanager
def bind_log_fields(**fields: str | int) -> Iterator[None]:
    """Add fields to the lines that are logged in the block; empty values change nothing."""
    token = _context.set({**_context.get(), **{name: value for name, value in fields.items() if value}})
    try:
        yield
    finally:
        _context.reset(token)


def current_log_fields() -> dict[str, str | int]:
    """Return the current log fields, those that are set of `request_id task job_id attempt workspace`."""
    where = workspace_setting()
    fields = dict(_context.get())
    if where not in (NOWHERE, EVERYWHERE):
        fields["workspace"] = where
    return fields


def request_id() -> str:
    """Return the current request id, '' without one."""
    return str(_context.get().get("request_id", ""))


def accept_request_id(given: str) -> str:
    """Return the given request id if it is short and has only harmless characters, else a new one."""
    return given if _REQUEST_ID.match(given) else uuid.uuid4().hex


#: The log fields at the end of a line for people.
_LINE_FIELDS: Final = ("request_id", "job_id")


class LineFormatter(logging.Formatter):
    """A formatter of lines: time, level, logger and message, then request and job."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Format the first line; a traceback follows on further ones."""
        log_fields = current_log_fields()
        fields = " ".join(
            f"{name.removesuffix('_id')}={log_fields[name]}" for name in _LINE_FIELDS if name in log_fields
        )
        line = super().formatMessage(record)
        return f"{line} [{fields}]" if fields else line


class JsonFormatter(logging.Formatter):
    """A formatter of one JSON object per line, whatever the message holds."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self._node = node

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "node": self._node,
            "role": own_role(),
            "pid": os.getpid(),
            "thread": record.threadName,
            **current_log_fields(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = _describe_exception(record.exc_info[1])
        return json.dumps(line, default=str)


def _describe_exception(error: BaseException) -> dict[str, str]:
    return {"type": type(error).__qualname__, "trace": "".join(traceback.format_exception(error))}


FORMATS: Final = ("line", "json")


def logging_settings(level: str, log_format: str, node: str) -> dict[str, Any]:
    """Return Django's LOGGING for all processes: lines on stderr, from `level` on.

    Raises ImproperlyConfigured.
    """
    if log_format not in FORMATS:
        raise ImproperlyConfigured(f"KEBAB_LOG_FORMAT is {log_format!r}; give {' or '.join(FORMATS)}.")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"()": "kebab.observability.log_formats.LineFormatter"},
            "json": {"()": "kebab.observability.log_formats.JsonFormatter", "node": node},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": log_format}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # A line per request is for log collectors; people look at the metrics.
            "kebab.access": {"level": "INFO" if log_format == "json" else "WARNING"},
            # Celery's pool disables this logger's propagation and writes its lines unformatted.
            "multiprocessing": {"handlers": ["stderr"], "propagate": False},
            "django.request": {"level": "ERROR"},
            # Independent of KEBAB_LOG_LEVEL: these would log secrets, as SQL values and in URLs.
            "django.db.backends": {"level": "INFO"},
            "urllib3": {"level": "INFO"},
            "httpx": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
            # These would log queries and results.
            "mcp": {"level": "WARNING"},
            "sse_starlette": {"level": "WARNING"},
            "psycopg.pool": {"level": "ERROR"},
        },
    }
