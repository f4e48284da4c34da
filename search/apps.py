"""The Django app `search`."""

from django.apps import AppConfig
from django.core import checks


class SearchConfig(AppConfig):
    """The app of the corpus and its search."""

    name = "search"
    extension = "search.wiring.EXTENSION"

    def ready(self) -> None:
        """Register Django's system checks of the settings."""
        from kebab.contributions import lazy

        for module in ("rerank.checks", "embedders.checks", "answers.model.configured"):
            checks.register(lazy(f"search.{module}.check_settings"))
