"""Passwords: their hashes, and the check of new ones."""

import re
from typing import Final

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

#: A bound for the cost of hashing and checking a password.
MAX_PASSWORD_CHARS: Final = 256
_REPEATED = re.compile(r"(.{1,8}?)\1+.{0,7}", re.DOTALL)


class DecoratedPasswordValidator(CommonPasswordValidator):
    """Refuses passwords that are too long, repetitive, or common ones with digits or signs around them."""

    def validate(self, password: str, user: object = None) -> None:
        """Check the password. Raises ValidationError."""
        if len(password) > MAX_PASSWORD_CHARS:
            raise ValidationError(
                _("Use at most %(count)d characters.") % {"count": MAX_PASSWORD_CHARS},
                code="password_too_long",
            )
        bare = _trim_to_letters(password.lower())
        repeated = _REPEATED.fullmatch(password.lower())
        if repeated is not None or not bare or bare in self.passwords:
            raise ValidationError(_("This password is too common."), code="password_too_common")

    def get_help_text(self) -> str:
        """Return the rule in words for people."""
        return _("Avoid common passwords, also with digits or signs around them, and repetitions.")


def _trim_to_letters(text: str) -> str:
    """Return the text from the first letter to the last."""
    letters = [position for position, sign in enumerate(text) if sign.isalpha()]
    return text[letters[0] : letters[-1] + 1] if letters else ""


class ArgonHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes, one lane: OWASP's first choice (Password Storage Cheat Sheet, 2024).

    With Django's 100 MiB in eight lanes, sixteen simultaneous sign-ins would take 1.6 GB and all cores.
    """

    time_cost = 2
    memory_cost = 19_456
    parallelism = 1
