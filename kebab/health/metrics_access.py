"""Access to metrics: clients on this machine, and clients with the operator's token."""

from hmac import compare_digest

from django.conf import settings

from kebab.http.rate_limits.client_address import parse_address


def may_read(peer: str, *, authorization: str, is_forwarded: bool) -> bool:
    """Return whether a client at the address `peer` may read metrics and versions.

    A request that a proxy forwards is not from this machine, whatever its peer is.
    """
    if settings.KEBAB_METRICS_OPEN or is_operator(authorization):
        return True
    address = parse_address(peer)
    return not is_forwarded and address is not None and address.is_loopback


def is_operator(authorization: str) -> bool:
    """Return whether a request has the operator's token, which is required for per-workspace series."""
    scheme, _, token = authorization.partition(" ")
    expected = settings.KEBAB_METRICS_TOKEN
    is_bearer = bool(expected) and scheme.lower() == "bearer"
    return is_bearer and compare_digest(token.strip().encode(), expected.encode())
