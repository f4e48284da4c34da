from django.apps import AppConfig


class HealthConfig(AppConfig):
    name = "kebab.observability.health"
    label = "health"

    def ready(self) -> None:
        """Register the checks of the servers."""
        from kebab.observability.health import server_checks

        server_checks.register()
