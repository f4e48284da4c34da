"""Audit events of signing in and out. They belong to no workspace and hold no secret."""

from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from kebab.identity.models import User
from kebab.people.audit import record_person
from kebab.tenancy.current_workspace import acting_everywhere

#: The actor of requests that need no more than an e-mail address: the address is the subject, not the actor.
NOBODY: Final = "nobody"


def record_sign_in(user: User, *, by: str) -> None:
    """Record that `user` signed in, `by` "password", "oidc" or "invitation"."""
    _record(user.email, "sign_in.succeeded", by=by)


def record_failed_sign_in(email: str, *, by: str, why: str) -> None:
    """Record a failed sign-in as `email`, and `why`; never the password that was entered.

    A text that is no e-mail address is not recorded either: it may be a password in the wrong field.
    """
    _write(NOBODY, "sign_in.failed", email if _is_address(email) else "no address", by=by, why=why)


def record_sign_out(user: User) -> None:
    """Record that `user` signed out."""
    _record(user.email, "sign_out")


def record_password_change(user: User, *, by: str) -> None:
    """Record that the password of `user` was changed, `by` "themselves" or a "reset" link."""
    _record(user.email, "password.changed", by=by)


def record_reset_request(email: str) -> None:
    """Record a request for a password reset link to `email`."""
    _write(NOBODY, "password.reset_asked", email)


def record_account(user: User, *, by: str) -> None:
    """Record that the account of `user` was created, `by` "oidc"."""
    _record(user.email, "account.created", by=by)


def record_link(user: User, *, issuer: str, password_ended: bool) -> None:
    """Record that `user` was linked to `issuer`, and whether their password was disabled."""
    _record(user.email, "account.linked", issuer=issuer, password_ended=password_ended)


def _record(email: str, action: str, **detail: Any) -> None:
    _write(email, action, email, **detail)


def _write(actor: str, action: str, subject: str, **detail: Any) -> None:
    with acting_everywhere():  # the row belongs to no workspace
        record_person(actor, action, subject, **detail)


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True
