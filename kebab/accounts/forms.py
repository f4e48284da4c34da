"""The forms of the account pages."""

from typing import Any, Final
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kebab.accounts.password_validators import MAX_PASSWORD_CHARS
from kebab.accounts.sign_in import authenticate_by_password
from kebab.identity.models import User

#: Names of time zones that a person may choose: those of places, as of all browsers.
TIME_ZONES: Final = frozenset(
    {"UTC", *(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))}
)
#: Themes that a person may choose instead of the system's.
THEMES: Final = ("light", "dark")


def _password_field() -> forms.CharField:
    return forms.CharField(strip=False, max_length=MAX_PASSWORD_CHARS)


class SignInForm(AuthenticationForm):
    """E-mail address and password."""

    request: HttpRequest
    password = _password_field()

    def clean(self) -> dict[str, Any]:
        """Authenticate the user. Raises RateLimited, which the view's caller handles."""
        email, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if email is not None and password:
            self.user_cache = authenticate_by_password(self.request, email, password)
            if self.user_cache is None:
                raise self.get_invalid_login_error()
        return self.cleaned_data


class ResetRequestForm(forms.Form):
    """The e-mail address of the account whose password is reset."""

    email = forms.EmailField(max_length=254)


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # the class itself is not generic
    """A new password, twice."""

    new_password1 = _password_field()
    new_password2 = _password_field()


class ChangePasswordForm(NewPasswordForm):
    """The current password, and a new one, twice."""

    old_password = _password_field()
    field_order = ("old_password", "new_password1", "new_password2")

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self._request = request
        super().__init__(*args, **kwargs)

    def clean_old_password(self) -> str:
        """Check the current password; a wrong one counts as a failed sign-in. Raises RateLimited."""
        password: str = self.cleaned_data["old_password"]
        if authenticate_by_password(self._request, self.user.email, password) is None:
            raise ValidationError(_("This is not your current password."))
        return password


class JoinForm(NewPasswordForm):
    """The form of an invited person without an account: a display name, and a password, twice."""

    display_name = forms.CharField(max_length=200, required=False)
    field_order = ("display_name", "new_password1", "new_password2")

    def __init__(self, email: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(User(email=email), *args, **kwargs)

    def clean_display_name(self) -> str:
        """Set the name on the user, so that the password is compared with it, too."""
        self.user.display_name = self.cleaned_data["display_name"]
        return str(self.user.display_name)


def _language_choices() -> list[tuple[str, Any]]:
    return [("", _("Browser default")), *settings.LANGUAGES]


def _zone_choices() -> list[tuple[str, Any]]:
    return [("", _("Browser default")), *((name, name.replace("_", " ")) for name in sorted(TIME_ZONES))]


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]  # the class itself is not generic
    """Name, language, time zone and theme of a person."""

    display_name = forms.CharField(label=_("Name"), max_length=200, required=False)
    language = forms.ChoiceField(label=_("Language"), choices=_language_choices, required=False)
    time_zone = forms.ChoiceField(label=_("Time zone"), choices=_zone_choices, required=False)
    theme = forms.ChoiceField(
        label=_("Theme"),
        choices=[("", _("Match system")), ("light", _("Light")), ("dark", _("Dark"))],
        required=False,
    )

    class Meta:
        model = User
        fields = ("display_name", "language", "time_zone", "theme")
