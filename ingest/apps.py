"""The ingest app, and what it adds to the parts of Kebab that know nothing of it."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Filling the corpus."""

    name = "ingest"

    def ready(self) -> None:
        """Register errors."""
        from ingest import wiring

        wiring.register()
