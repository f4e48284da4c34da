"""A search of a bundle file by the body of a search request."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from search.api.query import make_query
from search.bundles.search.pipeline import SearchableBundle
from search.retrieval.wire import result_to_wire


def search_bundle(path: Path, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return `search_response.v1`. Raises the errors of `SearchableBundle` and `make_query`."""
    bundle = SearchableBundle(path)
    try:
        given = {name: value for name, value in body.items() if name != "filters"}
        query = make_query(bundle.workspace, given, body.get("filters", {}))
        return result_to_wire(bundle.search(query))
    finally:
        bundle.close()
