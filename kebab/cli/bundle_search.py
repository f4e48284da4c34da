"""A search of a bundle file by this process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def search_bundle(path: Path, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wire document of a search of the bundle at `path`; no servers are needed."""
    import django

    django.setup()
    from kebab.extension import contributions

    found: dict[str, Any] = contributions("bundle_searches")[0](path, body)
    return found
