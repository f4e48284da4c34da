"""For which request or job the running code works: what every line of the log says beside its own words.

The workspace is that of `kebab.tenancy.current_workspace`. Threads of `context_executor` inherit
all of it.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

from kebab.tenancy.current_workspace import EVERYWHERE, NOWHERE, acting_in_setting

#: In a request what it is to be called, in every response what it was called.
REQUEST_ID_HEADER: Final = "X-Request-ID"

_REQUEST_ID: Final = re.compile(r"\A[A-Za-z0-9._-]{1,64}\Z")
_NOTHING: Final[Mapping[str, str | int]] = MappingProxyType({})
_context: ContextVar[Mapping[str, str | int]] = ContextVar("kebab_log_context", default=_NOTHING)


@contextmanager
def about(**facts: str | int) -> Iterator[None]:
    """Have the lines that are logged inside say these as well; what is empty is left as it is."""
    token = _context.set({**_context.get(), **{name: value for name, value in facts.items() if value}})
    try:
        yield
    finally:
        _context.reset(token)


def known_facts() -> dict[str, str | int]:
    """Return what lines say now: `request_id`, `task`, `job_id`, `attempt`, `workspace`, as far as
    there is.
    """
    where = acting_in_setting()
    facts = dict(_context.get())
    if where not in (NOWHERE, EVERYWHERE):
        facts["workspace"] = where
    return facts


def request_id() -> str:
    """Return the id of the request that the code works for, '' for none."""
    return str(_context.get().get("request_id", ""))


def accepted_request_id(given: str) -> str:
    """Return the id that a request brings if it is short and of harmless characters, else a new one."""
    return given if _REQUEST_ID.match(given) else uuid.uuid4().hex
