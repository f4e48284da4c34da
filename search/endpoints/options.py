"""Validation of the settings of HTTP endpoints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from kebab.http_client.addresses import is_explicit_address

_HEADER_VALUE = re.compile(r"[\x21-\x7e]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingProblem:
    """A problem with one setting, and the remedy."""

    setting: str
    message: str
    remedy: str


def literal_hosts(url: str) -> frozenset[str]:
    """Return the URL's host if it is an IP address or `localhost`; such a host may be private."""
    host = _split_url(url)[1]
    return frozenset({host}) if host and is_explicit_address(host) else frozenset()


def endpoint_problems(prefix: str, url: str, api_key: str, *, examples: str) -> Iterator[SettingProblem]:
    """Return the problems of the settings `{prefix}_URL` and `{prefix}_API_KEY`."""
    parts, host = _split_url(url)
    # The message omits the URL, as it may contain a key.
    if parts is None or host is None or parts.scheme not in {"http", "https"}:
        yield SettingProblem(
            setting=f"{prefix}_URL",
            message=f"{prefix}_URL is not the URL of an endpoint",
            remedy=f"Give one like {examples}.",
        )
    elif parts.username is not None or parts.password is not None:
        yield SettingProblem(
            setting=f"{prefix}_URL",
            message=f"{prefix}_URL has a name or a password in it",
            remedy=f"Put the key into {prefix}_API_KEY.",
        )
    if _HEADER_VALUE.fullmatch(api_key) is None:
        yield SettingProblem(
            setting=f"{prefix}_API_KEY",
            message=f"{prefix}_API_KEY holds characters that no header may have",
            remedy="Give the key alone, without white space.",
        )


def _split_url(url: str) -> tuple[SplitResult | None, str | None]:
    """Return the parts of a URL and its host; None if it is invalid."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for an invalid port
    except ValueError:
        return None, None
    return parts, parts.hostname
