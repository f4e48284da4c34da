from django.apps import AppConfig
from django.core import checks


class HealthConfig(AppConfig):
    name = "kebab.observability.health"
    label = "health"
    extension = "kebab.observability.health.server_checks.EXTENSION"

    def ready(self) -> None:
        """Register Django's checks of a deployment."""
        from kebab.extension import lazy

        checks.register(lazy("kebab.tenancy.checks.check_roles"), deploy=True)
        checks.register(lazy("kebab.http.rate_limits.checks.check_proxies"), deploy=True)
