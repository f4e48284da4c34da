"""What else a password may not be; Django's validators know the rest."""

import re
from typing import Final

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

#: Nobody types more, and what looks at a password looks at no more.
MAX_PASSWORD_CHARS: Final = 256
_REPEATED = re.compile(r"(.{1,8}?)\1+.{0,7}", re.DOTALL)


class DressedUpPasswordValidator(CommonPasswordValidator):
    """Refuses what is too long, and a common password that only looks so: repeated, or with digits around."""

    def validate(self, password: str, user: object = None) -> None:
        """Raises ValidationError."""
        if len(password) > MAX_PASSWORD_CHARS:
            raise ValidationError(
                f"A password may have at most {MAX_PASSWORD_CHARS} characters.", code="password_too_long"
            )
        bare = _without_fringe(password.lower())
        repeated = _REPEATED.fullmatch(password.lower())
        if repeated is not None or not bare or bare in self.passwords:
            raise ValidationError("This password is too common.", code="password_too_common")

    def get_help_text(self) -> str:
        """Return what it asks for."""
        return (
            "Your password can’t be a common one with digits or signs around it, or one said again and again."
        )


def _without_fringe(text: str) -> str:
    """Return what lies between the first letter and the last."""
    letters = [position for position, sign in enumerate(text) if sign.isalpha()]
    return text[letters[0] : letters[-1] + 1] if letters else ""
