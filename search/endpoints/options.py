"""What settings say of an endpoint that is asked over HTTP, and what is wrong in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from kebab.http_client.addresses import names_its_address

_HEADER_VALUE = re.compile(r"[\x21-\x7e]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with one setting, and the remedy."""

    setting: str
    message: str
    remedy: str


def literal_hosts(url: str) -> frozenset[str]:
    """Return the URL's host where it is an address as such or `localhost`, which then may be private."""
    host = _parts(url)[1]
    return frozenset({host}) if host and names_its_address(host) else frozenset()


def wrong_endpoint(prefix: str, url: str, api_key: str, *, examples: str) -> Iterator[Problem]:
    """Return what is wrong with the settings `{prefix}_URL` and `{prefix}_API_KEY`."""
    parts, host = _parts(url)
    # The URL isn't repeated: people put keys into it.
    if parts is None or host is None or parts.scheme not in {"http", "https"}:
        yield Problem(
            setting=f"{prefix}_URL",
            message=f"{prefix}_URL is not the URL of an endpoint",
            remedy=f"Give one like {examples}.",
        )
    elif parts.username is not None or parts.password is not None:
        yield Problem(
            setting=f"{prefix}_URL",
            message=f"{prefix}_URL has a name or a password in it",
            remedy=f"Put the key into {prefix}_API_KEY.",
        )
    if _HEADER_VALUE.fullmatch(api_key) is None:
        yield Problem(
            setting=f"{prefix}_API_KEY",
            message=f"{prefix}_API_KEY holds characters that no header may have",
            remedy="Give the key alone, without white space.",
        )


def _parts(url: str) -> tuple[SplitResult | None, str | None]:
    """Return the parts of a URL and its host; None for what can't be read."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for one that is no port
    except ValueError:
        return None, None
    return parts, parts.hostname
