"""The Django app of the command line."""

from django.apps import AppConfig


class CliConfig(AppConfig):
    """The commands that run and check a stack."""

    name = "kebab.cli"
    label = "cli"
