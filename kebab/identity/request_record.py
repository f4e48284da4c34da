"""The record of whom a view has found in a request; the door reads it after the response."""

from typing import Any, Final

CALLER: Final = "kebab.caller"
WORKSPACE: Final = "kebab.workspace"


def record_caller(request: Any, name: str) -> None:
    """Record the verified caller of a request for the door, under a name that no other caller has."""
    _record_of(request)[CALLER] = name


def record_workspace(request: Any, workspace_id: object) -> None:
    """Record the workspace, named in the path of a request, whose share its caller may use."""
    _record_of(request)[WORKSPACE] = str(workspace_id)


def _record_of(request: Any) -> Any:
    """Return what the door reads: the scope of an ASGI request, the environment of a WSGI one."""
    http = getattr(request, "_request", request)  # REST framework searches long for a missing `scope`
    scope = getattr(http, "scope", None)
    return http.META if scope is None else scope
