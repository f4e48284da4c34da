"""System check of trusted proxies, for `manage.py check --deploy`."""

from typing import Any

from django.conf import settings
from django.core import checks


def check_proxies(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Warn when Kebab is behind a proxy that `KEBAB_TRUSTED_PROXIES` doesn't name."""
    if not settings.SECURE_SSL_REDIRECT or settings.KEBAB_TRUSTED_PROXIES:
        return []
    return [
        checks.Warning(
            "KEBAB_HTTPS=1 means a proxy in front, but KEBAB_TRUSTED_PROXIES names none: everybody has the"
            " proxy's address, so that one person's failed sign-ins keep all others out.",
            hint="Give KEBAB_TRUSTED_PROXIES the addresses or networks that the proxy's requests come from.",
            id="kebab.W002",
        )
    ]
