"""Password validation beyond Django's validators."""

import re
from typing import Final

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

#: A bound for the cost of hashing and checking a password.
MAX_PASSWORD_CHARS: Final = 256
_REPEATED = re.compile(r"(.{1,8}?)\1+.{0,7}", re.DOTALL)


class DecoratedPasswordValidator(CommonPasswordValidator):
    """Refuses passwords that are too long, repetitive, or common ones with digits or signs around them."""

    def validate(self, password: str, user: object = None) -> None:
        """Check the password. Raises ValidationError."""
        if len(password) > MAX_PASSWORD_CHARS:
            raise ValidationError(
                f"A password may have at most {MAX_PASSWORD_CHARS} characters.", code="password_too_long"
            )
        bare = _trim_to_letters(password.lower())
        repeated = _REPEATED.fullmatch(password.lower())
        if repeated is not None or not bare or bare in self.passwords:
            raise ValidationError("This password is too common.", code="password_too_common")

    def get_help_text(self) -> str:
        """Return the rule in words for people."""
        return (
            "Your password can’t be a common one with digits or signs around it, or one said again and again."
        )


def _trim_to_letters(text: str) -> str:
    """Return the text from the first letter to the last."""
    letters = [position for position, sign in enumerate(text) if sign.isalpha()]
    return text[letters[0] : letters[-1] + 1] if letters else ""
