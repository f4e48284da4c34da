"""The ingest app, which registers its parts in the registries of the rest of Kebab."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """The app that ingests documents."""

    name = "ingest"

    def ready(self) -> None:
        """Register errors, settings, tabs, checks and metrics of ingestion."""
        from ingest import wiring

        wiring.register()
