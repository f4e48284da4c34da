"""The Django app `ingest`."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """The app that ingests documents."""

    name = "ingest"
    extension = "ingest.wiring.EXTENSION"
