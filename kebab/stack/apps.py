"""The Django application of the stack."""

from django.apps import AppConfig


class StackConfig(AppConfig):
    """Heartbeats of processes, and the verbs that run them."""

    name = "kebab.stack"
    label = "stack"
    verbose_name = "Stack"

    def ready(self) -> None:
        """Have metrics tell of servers and processes, and each start mark the folders that are private."""
        from kebab.stack import preparation, private_places, standing

        standing.register()
        preparation.register("private folders", private_places.prepare)
