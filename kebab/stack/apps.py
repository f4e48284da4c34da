"""The Django application of the stack."""

from django.apps import AppConfig


class StackConfig(AppConfig):
    """Heartbeats of processes, and the verbs that run them."""

    name = "kebab.stack"
    label = "stack"
    verbose_name = "Stack"
