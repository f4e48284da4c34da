"""Rate limits of invitations, and of guessing the addresses of users."""

from django.conf import settings

from kebab.http.rate_limits.rules import check_room, count, email_fingerprint, parse_limit
from kebab.identity.caller import Access

_UNKNOWN = "unknown-people"
_GUESSED = "You have named too many addresses that nobody here has; invite people instead."


def count_invitation(access: Access, email: str) -> None:
    """Count an invitation, whose mail holds text chosen by its sender. Raises RateLimited."""
    for of, name, message in (
        ("inviter", access.identity, "You have made too many invitations."),
        ("workspace", str(access.workspace.pk), "This workspace has made too many invitations."),
        ("address", email_fingerprint(email), "This address has been invited too often."),
    ):
        count(parse_limit(settings.KEBAB_INVITATION_LIMITS[of]), "invitations", of, name, message=message)


def check_guesses(access: Access) -> None:
    """Raise RateLimited if the caller has named too many addresses without a user."""
    check_room(parse_limit(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT), _UNKNOWN, access.identity, message=_GUESSED)


def count_guess(access: Access) -> None:
    """Count an address without a user that the caller has named. Raises RateLimited."""
    count(parse_limit(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT), _UNKNOWN, access.identity, message=_GUESSED)
