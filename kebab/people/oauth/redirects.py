"""Addresses to which codes are sent: of a site under TLS, or of a program on the person's own machine."""

import re
from typing import Final

_HOST: Final = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
# Without user, fragment, backslash and quotes: what a browser opens is what a person has seen.
_PATH: Final = r"""(?:[/?](?:(?!["'#\\<>])[!-~])*)?"""
_SITE: Final = re.compile(rf"https://{_HOST}(?::[0-9]{{1,5}})?{_PATH}")
_LOOPBACK: Final = re.compile(
    rf"(http://(?:localhost|127\.0\.0\.1|\[::1\]))(?::[0-9]{{1,5}})?({_PATH})", re.ASCII
)


def check_redirect_uri(uri: str) -> None:
    """Raise ValueError for an address to which no code is sent."""
    if _SITE.fullmatch(uri) is None and _LOOPBACK.fullmatch(uri) is None:
        raise ValueError(
            "It is not a redirect URI; give https://host/path, or http://127.0.0.1/path of a program on the"
            " person's machine, without a fragment."
        )


def is_same_redirect(registered: str, given: str) -> bool:
    """Return whether both are the same address; the port of this machine's may differ (RFC 8252, 7.3)."""
    ours, theirs = _LOOPBACK.fullmatch(registered), _LOOPBACK.fullmatch(given)
    if ours is None or theirs is None:
        return registered == given
    return ours.groups() == theirs.groups()
