from django.apps import AppConfig
from django.core import checks


class HealthConfig(AppConfig):
    name = "kebab.health"
    label = "health"

    def ready(self) -> None:
        """Register Django's checks of a deployment."""
        from kebab.contributions import lazy

        checks.register(lazy("kebab.health.server_checks.check_roles"), deploy=True)
        checks.register(lazy("kebab.http.rate_limits.rules.check_proxies"), deploy=True)
