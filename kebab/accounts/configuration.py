"""Parsers of operator settings: mail server, OpenID Connect provider, rates. No error shows a secret."""

import ipaddress
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_RATE = re.compile(r"[1-9][0-9]*/([1-9][0-9]* ?)?(second|minute|hour|day)s?")
_SITE = re.compile(r"https?://[a-zA-Z0-9.:\[\]-]+/?")
_BACKENDS = "django.core.mail.backends"
_THIS_MACHINE = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?(/|\Z)")


def validate_rate(name: str, rate: str) -> str:
    """Return `rate` if it is valid, like `100/minute` or `10/15 minutes`. Raises ImproperlyConfigured."""
    if not _RATE.fullmatch(rate):
        raise ImproperlyConfigured(f"{name} is {rate!r}; give something like 100/minute or 10/15 minutes.")
    return rate


def parse_site_url(url: str) -> str:
    """Return the site's URL without its trailing slash. Raises ImproperlyConfigured."""
    if url and not _SITE.fullmatch(url):
        raise ImproperlyConfigured("KEBAB_URL must be an address like https://kebab.example.org.")
    return url.rstrip("/")


def parse_networks(name: str, items: Iterable[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Parse networks; a single address is a network of one. Raises ImproperlyConfigured."""
    try:
        return [ipaddress.ip_network(item, strict=False) for item in items]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}; give addresses or networks like 10.0.0.0/8.") from error


def mail_settings(url: str, folder: Path) -> dict[str, Any]:
    """Return Django's mail settings for `smtp://` (STARTTLS), `smtps://`, `console:`; else files in `folder`.

    Raises ImproperlyConfigured, which doesn't show the password.
    """
    if not url:
        return {"EMAIL_BACKEND": f"{_BACKENDS}.filebased.EmailBackend", "EMAIL_FILE_PATH": folder}
    if url == "console:":
        return {"EMAIL_BACKEND": f"{_BACKENDS}.console.EmailBackend"}
    try:
        return _smtp_settings(url)
    except ValueError:
        raise ImproperlyConfigured(
            "KEBAB_EMAIL_URL must be a smtp://, smtps:// or console: URL; write signs in a password as %XX."
        ) from None


def parse_oidc_issuer(issuer: str, client_id: str, client_secret: str) -> str:
    """Return the provider's URL without its trailing slash; plain HTTP is allowed on this machine only.

    Raises ImproperlyConfigured.
    """
    issuer = issuer.rstrip("/")
    if issuer and not (client_id and client_secret):
        raise ImproperlyConfigured("KEBAB_OIDC_CLIENT_ID and KEBAB_OIDC_CLIENT_SECRET must be set too.")
    if issuer and not (issuer.startswith("https://") or _THIS_MACHINE.match(issuer)):
        raise ImproperlyConfigured(f"KEBAB_OIDC_ISSUER is {issuer!r}; give an https:// address.")
    return issuer


def _smtp_settings(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname or parts.path not in {"", "/"}:
        raise ValueError(parts.scheme)
    return {
        "EMAIL_BACKEND": "kebab.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or (465 if parts.scheme == "smtps" else 587),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp" and parts.query != "tls=0",
        "EMAIL_TIMEOUT": 10,
    }
