"""Parts of URL tables: routes below a workspace, and a path converter for ids."""

import uuid
from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path, register_converter


class HexIdConverter:
    """The converter of `<hex32:doc_id>`, a document's or chunk's id; anything else is an unknown address."""

    regex = "[0-9a-f]{32}"

    def to_python(self, value: str) -> uuid.UUID:
        """Return the id as a UUID."""
        return uuid.UUID(hex=value)

    def to_url(self, value: uuid.UUID) -> str:
        """Return the 32 digits."""
        return value.hex


register_converter(HexIdConverter, "hex32")


def below_workspace(route: str, view: Callable[..., Any], name: str) -> URLPattern:
    """Return the pattern of `/workspaces/{ws}` and what follows; `route` is empty or begins with a slash."""
    return path(f"workspaces/<str:ws>{route}", view, name=name)
