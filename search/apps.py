"""The Django app `search`, which registers its extensions with the generic parts of Kebab."""

from django.apps import AppConfig


class SearchConfig(AppConfig):
    """The app of the corpus and its search."""

    name = "search"

    def ready(self) -> None:
        """Register settings, errors, deletion, checks and reports."""
        from search import wiring

        wiring.register()
