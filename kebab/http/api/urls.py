"""Pieces of URL tables: addresses below a workspace, and ids in them."""

import uuid
from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path, register_converter


class HexIdConverter:
    """`<hex32:doc_id>`: a document's or chunk's id. Anything else is an unknown address, so the same 404."""

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
