"""Forms of tokens."""

from typing import Any

from django import forms

from kebab.people.models import TokenScope, Workspace
from kebab.people.pages.forms import GroupsField, offered_groups
from kebab.people.token_lifecycle import MAX_OVERLAP

_SCOPES = {
    TokenScope.SEARCH: "search: search, and read documents",
    TokenScope.ASK: "ask: ask questions",
    TokenScope.INGEST: "ingest: add, change and delete sources and documents",
    TokenScope.MANAGE: "manage: change settings and the embedding model",
}
_MAX_MINUTES = int(MAX_OVERLAP.total_seconds() // 60)


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(
        label="Name",
        max_length=200,
        required=False,
        help_text="Which tool it is for.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=[(scope.value, words) for scope, words in _SCOPES.items()],
        initial=[TokenScope.SEARCH.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one: a token without a scope may do nothing."},
    )
    groups = GroupsField(label="Groups", help_text="It reads what is restricted to these, too.")
    expires_in_days = forms.TypedChoiceField(
        label="Expires",
        coerce=int,
        empty_value=None,
        required=False,
        initial="90",
        choices=[
            ("7", "after 7 days"),
            ("30", "after 30 days"),
            ("90", "after 90 days"),
            ("365", "after a year"),
            ("", "never"),
        ],
    )

    def __init__(self, workspace: Workspace, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        offered: Any = self.fields["groups"]
        offered.choices = offered_groups(workspace)


class RotationForm(forms.Form):
    """The rotation of a token: how long the old one still works."""

    overlap_minutes = forms.IntegerField(
        label="Minutes that the old one still works",
        min_value=0,
        max_value=_MAX_MINUTES,
        initial=60,
        help_text=f"0 to {_MAX_MINUTES}; 0 ends it at once.",
    )
