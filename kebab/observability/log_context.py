"""Log fields of the current request or job, which every log line carries.

The workspace is that of `kebab.tenancy.current_workspace`. Threads of `context_executor` inherit all fields.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

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
