"""The Django app `search`."""

from django.apps import AppConfig
from django.core import checks

from search.runtime import SearchRuntime


class SearchConfig(AppConfig):
    """The app of the corpus and its search."""

    name = "search"
    extension = "search.wiring.EXTENSION"

    def ready(self) -> None:
        """Hold the app's runtime, and register Django's system checks of the settings."""
        self.runtime = SearchRuntime()
        from kebab.contributions import lazy

        for part in ("rerank", "embedders", "answers.model"):
            checks.register(lazy(f"search.{part}.checks.check_settings"))
