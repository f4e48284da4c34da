"""Lookup of the people that a command's arguments name."""

from kebab.cli.errors import CliError, Exit
from kebab.people.models import User


def find_user(email: str) -> User:
    """Return the user with this address. Raises CliError."""
    user = User.objects.with_address(email).first()
    if user is None:
        raise CliError(
            f"There is no user {email!r}. People come by invitation (the page People); an operator comes"
            f" by: kebab createsuperuser --email {email}",
            code="user_unknown",
            exit_code=Exit.NOTHING,
        )
    return user
