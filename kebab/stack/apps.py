"""The Django application of the stack."""

from django.apps import AppConfig


class StackConfig(AppConfig):
    """Heartbeats of processes, and the verbs that run them."""

    name = "kebab.stack"
    label = "stack"
    verbose_name = "Stack"

    def ready(self) -> None:
        """Have metrics tell of servers and processes, and each start mark the folders that are private."""
        from kebab.stack import init_steps
        from kebab.stack.servers import server_metrics
        from kebab.stack.storage import private_places

        server_metrics.register()
        init_steps.register("private folders", private_places.prepare)
