"""The Django application of the stack."""

from django.apps import AppConfig


class StackConfig(AppConfig):
    """Heartbeats of processes, and the commands that run them."""

    name = "kebab.stack"
    label = "stack"
    verbose_name = "Stack"

    def ready(self) -> None:
        """Register the collectors of server metrics, and the init step that marks private folders."""
        from kebab.stack import init_steps
        from kebab.stack.servers import server_metrics
        from kebab.stack.storage import private_places

        server_metrics.register()
        init_steps.register("private folders", private_places.mark_own_folders)
