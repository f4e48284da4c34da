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

        for part in ("rerank", "embedders", "answers.model"):
            checks.register(lazy(f"search.{part}.checks.check_settings"))
