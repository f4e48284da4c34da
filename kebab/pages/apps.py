"""The app of the shared templates and static files."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Shared templates and static files of all pages."""

    name = "kebab.pages"
    label = "pages"
