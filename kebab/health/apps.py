from django.apps import AppConfig
from django.core import checks


class HealthConfig(AppConfig):
    name = "kebab.health"
    label = "health"

    def ready(self) -> None:
        """Register Django's checks of a deployment."""
        from kebab.contributions import lazy

        checks.register(lazy("kebab.health.row_level_security.check_roles"), deploy=True)
        checks.register(lazy("kebab.http.rate_limits.checks.check_proxies"), deploy=True)
