"""Who may read how much there is to do here, and with what: somebody on this machine, and the operator."""

from hmac import compare_digest

from django.conf import settings

from kebab.limits.client import parsed_address


def may_read(peer: str, *, authorization: str, is_forwarded: bool) -> bool:
    """Return whether who asks from the address `peer` may read metrics and versions.

    What a proxy on this machine hands on comes from elsewhere (`is_forwarded`).
    """
    if settings.KEBAB_METRICS_OPEN or is_operator(authorization):
        return True
    address = parsed_address(peer)
    return not is_forwarded and address is not None and address.is_loopback


def is_operator(authorization: str) -> bool:
    """Return whether somebody brings the operator's token, who may read of single workspaces."""
    scheme, _, token = authorization.partition(" ")
    expected = settings.KEBAB_METRICS_TOKEN
    is_bearer = bool(expected) and scheme.lower() == "bearer"
    return is_bearer and compare_digest(token.strip().encode(), expected.encode())
