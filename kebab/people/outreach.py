"""How often somebody may reach for strangers: by invitations, or by trying addresses."""

import hashlib

from django.conf import settings
from limits import parse

from kebab.api.errors import RateLimited
from kebab.limits.limiter import limiter
from kebab.people.access import Access


def count_invitation(access: Access, email: str) -> None:
    """Count an invitation: it is mailed, with words that its makers choose. Raises RateLimited."""
    _count("inviter", access.identity, said="You have made too many invitations; go on later.")
    _count("workspace", str(access.workspace.pk), said="This workspace has made too many invitations.")
    _count("address", _fingerprint(email), said="This address has been invited too often; try again later.")


def check_guesses(access: Access) -> None:
    """Raises RateLimited when the caller has named too many addresses that nobody has."""
    if not limiter().has_room(parse(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT), *_guesses(access)):
        raise _refusal(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT, *_guesses(access), said=_GUESSED)


def count_guess(access: Access) -> None:
    """Count an address that the caller has named and nobody has."""
    limiter().hit(parse(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT), *_guesses(access))


_GUESSED = "You have named too many addresses that nobody here has; invite people instead."


def _guesses(access: Access) -> tuple[str, str]:
    return "unknown-people", access.identity


def _count(of: str, name: str, *, said: str) -> None:
    limit = settings.KEBAB_INVITATION_LIMITS[of]
    if not limiter().hit(parse(limit), "invitations", of, name):
        raise _refusal(limit, "invitations", of, name, said=said)


def _refusal(limit: str, *name: str, said: str) -> RateLimited:
    return RateLimited(said, retry_after_s=limiter().retry_after_s(parse(limit), *name))


def _fingerprint(email: str) -> str:
    """Stand for an e-mail address, which Redis needn't know."""
    return hashlib.sha256(email.strip().lower().encode(errors="surrogatepass")).hexdigest()
