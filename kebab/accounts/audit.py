"""Audit events of signing in and out. They belong to no workspace and hold no secret."""

from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from kebab.identity.models import User
from kebab.people.audit import record_person
from kebab.tenancy.current_workspace import acting_everywhere

#: The actor of requests that need no more than an e-mail address: the address is the subject, not the actor.
NOBODY: Final = "nobody"


def record(user: User, action: str, **detail: Any) -> None:
    """Record an action of `user` on their own account: `sign_out`, `password.changed`, `account.linked`."""
    _write(user.email, action, user.email, **detail)


def record_failed_sign_in(email: str, *, by: str, why: str) -> None:
    """Record a failed sign-in as `email`, and `why`; never the password that was entered.

    A text that is no e-mail address is not recorded either: it may be a password in the wrong field.
    """
    _write(NOBODY, "sign_in.failed", email if _is_address(email) else "no address", by=by, why=why)


def record_reset_request(email: str) -> None:
    """Record a request for a password reset link to `email`."""
    _write(NOBODY, "password.reset_asked", email)


def _write(actor: str, action: str, subject: str, **detail: Any) -> None:
    with acting_everywhere():  # the row belongs to no workspace
        record_person(actor, action, subject, **detail)


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True
