"""Reset of the search app's runtime."""

from django.apps import apps

from search.runtime import SearchRuntime


def renew_runtime() -> None:
    """Rebuild models, stores and clients from the current settings."""
    apps.get_app_config("search").runtime = SearchRuntime()
