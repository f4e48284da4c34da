"""Every served address with its methods, from the URL table."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, get_resolver

_METHODS = ("get", "post", "put", "patch", "delete")
_ARGUMENT = re.compile(r"<(?:[^:<>]+:)?([a-z_]+)>")
_NAMED_GROUP = re.compile(r"\(\?P<([a-z_]+)>[^)]*\)")
_PLAIN = str.maketrans("", "", "^$\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One pattern of the URL table."""

    #: With the names of its namespaces; the pattern for one without a name.
    name: str
    #: As in the table, with `<converter:name>` for arguments.
    pattern: str
    methods: tuple[str, ...]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the names of the arguments."""
        return tuple(_ARGUMENT.findall(self.pattern))

    def path(self, arguments: Mapping[str, str]) -> str:
        """Return an address. Raises KeyError for a missing argument."""
        return "/" + _ARGUMENT.sub(lambda found: arguments[found[1]], self.pattern)


def routes() -> list[Route]:
    """Return all routes."""
    return list(_walk(get_resolver("kebab.urls").url_patterns, "", ()))


def _walk(patterns: Any, before: str, spaces: tuple[str, ...]) -> Iterator[Route]:
    for pattern in patterns:
        here = before + _NAMED_GROUP.sub(r"<\1>", str(pattern.pattern)).translate(_PLAIN)
        if isinstance(pattern, URLPattern):
            name = ":".join((*spaces, pattern.name)) if pattern.name else here
            yield Route(name=name, pattern=here, methods=_methods(pattern.callback))
        else:
            inner = (*spaces, pattern.namespace) if pattern.namespace else spaces
            yield from _walk(pattern.url_patterns, here, inner)


def _methods(callback: Any) -> tuple[str, ...]:
    view = getattr(callback, "view_class", None) or getattr(callback, "cls", None)
    if view is None:
        return _METHODS
    allowed = {name.lower() for name in view.http_method_names}
    return tuple(name for name in _METHODS if name in allowed and hasattr(view, name))
