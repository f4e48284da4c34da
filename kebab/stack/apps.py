"""The Django app of the stack."""

from django.apps import AppConfig


class StackConfig(AppConfig):
    """Heartbeats of processes."""

    name = "kebab.stack"
    label = "stack"
    verbose_name = "Stack"
