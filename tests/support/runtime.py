"""Reset of the search app's runtime."""

from django.apps import apps

from search.runtime import SearchRuntime


def renew_runtime() -> None:
    """Have models, stores and clients built anew, from the settings of the moment."""
    apps.get_app_config("search").runtime = SearchRuntime()
