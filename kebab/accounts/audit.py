"""Writes down what people do to get in and out. None of it belongs to a workspace, none holds a secret."""

from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from kebab.people.audit import record_person
from kebab.people.models import User
from kebab.tenancy.current_workspace import acting_everywhere

#: The actor of what anybody may do who knows no more than an address: it is what was done to, not who did it.
NOBODY: Final = "nobody"


def record_sign_in(user: User, *, by: str) -> None:
    """Write that `user` has signed in, `by` "password", "oidc" or "invitation"."""
    _record(user.email, "sign_in.succeeded", by=by)


def record_failed_sign_in(email: str, *, by: str, why: str) -> None:
    """Write that somebody could not sign in as `email`, and `why`; never what they gave as a password.

    What hasn't the form of an address is not written either: it may be a password, given in the wrong place.
    """
    _write(NOBODY, "sign_in.failed", email if _is_address(email) else "no address", by=by, why=why)


def record_sign_out(user: User) -> None:
    """Write that `user` has signed out."""
    _record(user.email, "sign_out")


def record_password_change(user: User, *, by: str) -> None:
    """Write that `user` has a new password, `by` "themselves" or a "reset" link."""
    _record(user.email, "password.changed", by=by)


def record_reset_request(email: str) -> None:
    """Write that somebody has asked for a link to set the password of `email`."""
    _write(NOBODY, "password.reset_asked", email)


def record_account(user: User, *, by: str) -> None:
    """Write that the account of `user` came to be, `by` "oidc"."""
    _record(user.email, "account.created", by=by)


def record_link(user: User, *, issuer: str, password_ended: bool) -> None:
    """Write that `user` can sign in through `issuer` from now on, and whether with their password no more."""
    _record(user.email, "account.linked", issuer=issuer, password_ended=password_ended)


def _record(email: str, action: str, **detail: Any) -> None:
    _write(email, action, email, **detail)


def _write(actor: str, action: str, subject: str, **detail: Any) -> None:
    with acting_everywhere():  # a row of no workspace belongs to none that one could act in
        record_person(actor, action, subject, **detail)


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True
