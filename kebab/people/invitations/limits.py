"""How often somebody may reach for strangers: by invitations, or by trying addresses."""

from django.conf import settings

from kebab.http.rate_limits.rules import check_room, count, fingerprint, written
from kebab.people.access.caller import Access

_UNKNOWN = "unknown-people"
_GUESSED = "You have named too many addresses that nobody here has; invite people instead."


def count_invitation(access: Access, email: str) -> None:
    """Count an invitation: it is mailed, with words that its makers choose. Raises RateLimited."""
    for of, name, said in (
        ("inviter", access.identity, "You have made too many invitations."),
        ("workspace", str(access.workspace.pk), "This workspace has made too many invitations."),
        ("address", fingerprint(email), "This address has been invited too often."),
    ):
        count(written(settings.KEBAB_INVITATION_LIMITS[of]), "invitations", of, name, said=said)


def check_guesses(access: Access) -> None:
    """Raises RateLimited when the caller has named too many addresses that nobody has."""
    check_room(written(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT), _UNKNOWN, access.identity, said=_GUESSED)


def count_guess(access: Access) -> None:
    """Count an address that the caller has named and nobody has. Raises RateLimited."""
    count(written(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT), _UNKNOWN, access.identity, said=_GUESSED)
