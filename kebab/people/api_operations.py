"""What the API does in a workspace, and what each of it needs, read from the URL table in force."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from django.urls import URLPattern, URLResolver, get_resolver

from kebab.http.api.permissions import Need

_BELOW_WORKSPACE = re.compile(r"\Aapi/v1/workspaces/<str:ws>(?P<route>.*)\Z")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one address below `/workspaces/{ws}`."""

    method: str
    #: As the OpenAPI document writes it, without what stands before: `/groups/{group_id}`.
    route: str
    need: Need

    def __str__(self) -> str:
        return f"{self.method} {self.route or '/'}"


def operations() -> tuple[Operation, ...]:
    """Return all operations, in the order of the URL table."""
    return _all(get_resolver())


@cache  # a resolver never changes
def _all(resolver: URLResolver) -> tuple[Operation, ...]:
    return tuple(each for pattern, route in _views(resolver, "") for each in _of(pattern, route))


def _of(pattern: URLPattern, whole_route: str) -> Iterator[Operation]:
    from kebab.http.api.views import (
        WorkspaceView,  # it brings the REST framework along, which most verbs never use
    )

    below = _BELOW_WORKSPACE.match(whole_route)
    view = getattr(pattern.callback, "view_class", None)
    if below is None or view is None or not issubclass(view, WorkspaceView):
        return
    route = _PARAMETER.sub(r"{\1}", below["route"])
    for method, need in view.required.items():
        if hasattr(view, method.lower()):
            yield Operation(method=method, route=route, need=need)


def _views(resolver: URLResolver, before: str) -> Iterator[tuple[URLPattern, str]]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield pattern, route
        else:
            yield from _views(pattern, route)
