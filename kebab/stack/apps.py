"""The Django app of the stack."""

from django.apps import AppConfig


class StackConfig(AppConfig):
    """Heartbeats of processes, and the commands that run them."""

    name = "kebab.stack"
    label = "stack"
    verbose_name = "Stack"
    extension = "kebab.stack.wiring.EXTENSION"
