"""The API's operations below a workspace and the rights they need, read from the URL table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from django.urls import URLPattern, URLResolver, get_resolver

from kebab.identity.caller import Need

_BELOW_WORKSPACE = re.compile(r"\Aapi/v1/workspaces/<str:ws>(?P<route>.*)\Z")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one URL below `/workspaces/{ws}`."""

    method: str
    #: As in the OpenAPI document, without the prefix: `/groups/{group_id}`.
    route: str
    need: Need

    def __str__(self) -> str:
        return f"{self.method} {self.route or '/'}"


def operations() -> tuple[Operation, ...]:
    """Return all operations, in the order of the URL table."""
    return _all_operations(get_resolver())


@cache  # a resolver never changes
def _all_operations(resolver: URLResolver) -> tuple[Operation, ...]:
    return tuple(
        each for pattern, route in _walk_views(resolver, "") for each in _operations_of(pattern, route)
    )


def _operations_of(pattern: URLPattern, whole_route: str) -> Iterator[Operation]:
    from kebab.http.api.views import (
        WorkspaceView,  # it imports the REST framework, which most commands never use
    )

    below = _BELOW_WORKSPACE.match(whole_route)
    view = getattr(pattern.callback, "view_class", None)
    if below is None or view is None or not issubclass(view, WorkspaceView):
        return
    route = _PARAMETER.sub(r"{\1}", below["route"])
    for method, need in view.required.items():
        if hasattr(view, method.lower()):
            yield Operation(method=method, route=route, need=need)


def _walk_views(resolver: URLResolver, before: str) -> Iterator[tuple[URLPattern, str]]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield pattern, route
        else:
            yield from _walk_views(pattern, route)
