"""Forms of a workspace's settings."""

from typing import Any

from django import forms
from django.http import QueryDict

from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import Preference, known_preferences
from kebab.people.workspaces import MAX_NAME_CHARS

_YES_NO = (("true", "yes"), ("false", "no"))
_PLAIN = forms.TextInput(attrs={"autocomplete": "off"})


class NameForm(forms.Form):
    """A workspace's name and slug."""

    name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, widget=_PLAIN)
    slug = forms.CharField(
        label="Short name in addresses",
        max_length=63,
        widget=_PLAIN,
        help_text="Lower-case letters, digits and hyphens. Links to the old one open nothing any more.",
    )


class DeletionForm(forms.Form):
    """The slug, typed to confirm the deletion of the workspace."""

    slug = forms.CharField(label="Type its short name to delete it", max_length=63, widget=_PLAIN)

    def __init__(self, workspace: Workspace, posted: QueryDict | None = None) -> None:
        # The name form on the same page has a slug, too.
        super().__init__(posted, auto_id="id_deletion_%s")
        self._slug = workspace.slug

    def clean_slug(self) -> str:
        """Return the slug. Raises ValidationError for another workspace's."""
        slug: str = self.cleaned_data["slug"]
        if slug != self._slug:
            raise forms.ValidationError(f"This is not {self._slug}.")
        return slug


class SettingsForm(forms.Form):
    """All settings. An empty field restores the default."""

    def __init__(self, workspace: Workspace, posted: QueryDict | None = None) -> None:
        initial = {name: _format_value(value) for name, value in workspace.settings.items()}
        super().__init__(posted, initial=initial)
        self._known = tuple(known_preferences().values())
        for known in self._known:
            self.fields[known.name] = _create_field(known, initial.get(known.name, ""))

    def clean(self) -> dict[str, Any]:
        """Return the settings by name, None for the default; errors are added to their fields."""
        cleaned = super().clean() or {}
        for known in self._known:
            text = cleaned.get(known.name, "")
            if text == "":
                cleaned[known.name] = None
                continue
            try:
                cleaned[known.name] = known.validate(_parse_value(text, known.default))
            except ValueError as error:
                self.add_error(known.name, str(error))
        return cleaned


def _create_field(known: Preference, stored: str) -> forms.Field:
    default = "" if known.default is None else _format_value(known.default)
    field_options: dict[str, Any] = {"label": known.label, "help_text": known.about, "required": False}
    choices = _YES_NO if isinstance(known.default, bool) else tuple(known.choices() if known.choices else ())
    if not choices:
        attributes = {"autocomplete": "off", "inputmode": "decimal", "placeholder": f"{default} (default)"}
        return forms.CharField(max_length=200, widget=forms.TextInput(attrs=attributes), **field_options)
    if stored and stored not in dict(choices):  # an embedder that the operator has removed stays visible
        choices = (*choices, (stored, stored))
    named = dict(choices).get(default, default or "the operator’s")
    return forms.ChoiceField(choices=[("", f"default: {named}"), *choices], **field_options)


def _format_value(value: Any) -> str:
    """Return a setting's value as form input."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _parse_value(text: str, default: Any) -> Any:
    """Return form input as a value of the default's type. Raises ValueError."""
    if isinstance(default, bool):
        return text == "true"
    if isinstance(default, int | float):
        try:
            return int(text) if isinstance(default, int) else float(text)
        except ValueError:
            raise ValueError(
                f"{text[:50]!r} is not a {'whole ' if isinstance(default, int) else ''}number."
            ) from None
    return text
