from django.apps import AppConfig


class HealthConfig(AppConfig):
    name = "kebab.health"
    label = "health"

    def ready(self) -> None:
        """Register what is checked of the servers themselves."""
        from kebab.health import server_checks

        server_checks.register()
