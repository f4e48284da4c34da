"""Forms of tokens."""

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from kebab.identity.models import TokenScope, Workspace
from kebab.people.pages.form_page import GroupsField, offered_groups
from kebab.people.token_lifecycle import MAX_OVERLAP

SCOPE_LABELS = {
    TokenScope.SEARCH: _("search: search and read documents"),
    TokenScope.ASK: _("ask: ask questions"),
    TokenScope.INGEST: _("ingest: manage sources and documents"),
    TokenScope.MANAGE: _("manage: change settings and the embedding model"),
}
_MAX_MINUTES = int(MAX_OVERLAP.total_seconds() // 60)


class PersonalTokenForm(forms.Form):
    """A new token that acts for the person who creates it."""

    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        required=False,
        help_text=_("The tool that uses it"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=[(scope.value, words) for scope, words in SCOPE_LABELS.items()],
        initial=[TokenScope.SEARCH.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one permission.")},
    )
    expires_in_days = forms.TypedChoiceField(
        label=_("Expires"),
        coerce=int,
        empty_value=None,
        required=False,
        initial="90",
        choices=[
            ("7", _("after 7 days")),
            ("30", _("after 30 days")),
            ("90", _("after 90 days")),
            ("365", _("after a year")),
            ("", _("never")),
        ],
    )


class TokenForm(PersonalTokenForm):
    """A new token of a workspace."""

    groups = GroupsField(label=_("Groups"), help_text=_("It reads sources restricted to these groups."))

    def __init__(self, workspace: Workspace, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        offered: Any = self.fields["groups"]
        offered.choices = offered_groups(workspace)


class RotationForm(forms.Form):
    """The rotation of a token: how long the old one still works."""

    overlap_minutes = forms.IntegerField(
        label=_("Minutes until the old token stops working"),
        min_value=0,
        max_value=_MAX_MINUTES,
        initial=60,
        help_text=format_lazy(_("0 to {most}. With 0 it stops at once."), most=_MAX_MINUTES),
    )
