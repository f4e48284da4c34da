"""The search app, and what it adds to the parts of Kebab that know nothing of it."""

from django.apps import AppConfig


class SearchConfig(AppConfig):
    """The corpus and searching it."""

    name = "search"

    def ready(self) -> None:
        """Register settings, errors, deletion, checks and reports."""
        from search import wiring

        wiring.register()
