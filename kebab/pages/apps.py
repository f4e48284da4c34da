"""The app that holds the frame of all pages."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Templates and static files that all pages share."""

    name = "kebab.pages"
    label = "pages"
