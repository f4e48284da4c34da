"""What ingest adds to kebab's registries."""

from ingest.errors import IngestError
from kebab.api.errors import register_error_tree


def register() -> None:
    """Register all of it; called once, when the apps are ready."""
    register_error_tree(IngestError)
