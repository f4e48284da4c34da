from django.apps import AppConfig
from django.core import checks


class HealthConfig(AppConfig):
    name = "kebab.observability.health"
    label = "health"
    extension = "kebab.observability.health.server_checks.EXTENSION"

    def ready(self) -> None:
        """Register Django's checks of a deployment."""
        from kebab.http.rate_limits.checks import check_proxies
        from kebab.tenancy.checks import check_roles

        checks.register(check_roles, deploy=True)
        checks.register(check_proxies, deploy=True)
