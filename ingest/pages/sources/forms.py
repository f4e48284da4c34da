"""Forms of sources, the one that edits a source, and the API request bodies built from them.

The forms only check the shape of values; the serializers of the API validate the bodies.
"""

import csv
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from ingest.connectors.records.declaration import ConnectorField, ConnectorKind
from ingest.connectors.records.kinds import RECORD_KINDS
from ingest.jobs.queue.schedule import LEAST_INTERVAL
from ingest.templatetags.labels import every_minutes
from kebab.http.api.errors import Problem
from kebab.people.models import Group
from search.models import Source, SourceKind, Trust
from search.models.source import MAX_TITLE_CHARS

_INTERVALS = (15, 60, 24 * 60, 7 * 24 * 60)
#: Fields of all kinds, shown after the kind's own fields and before the readers.
COMMON_FIELDS = ("description", "tags", "trust", "schedule", "watch")
#: Fields of the credentials of a repository.
CREDENTIALS = ("username", "token")
_NO_SCHEDULE = _("Manually")
# API field names, and codes of errors without a field, by the form fields that show them.
_FIELDS: Mapping[str, str] = {
    "name": "title",
    "default_tags": "tags",
    "default_trust": "trust",
    "sync_every_minutes": "schedule",
    "config": "url",
    "config.tags": "version_tags",
    "config.credentials": "token",
    "credentials": "token",
    "folder_not_allowed": "path",
    "address_not_allowed": "url",
    "connection_failed": "url",
    "credentials_refused": "token",
    "source_exists": "key",
}


class ListField(forms.Field):
    """A comma-separated list; a quoted entry may contain commas."""

    widget = forms.TextInput

    def prepare_value(self, value: Any) -> str:
        """Return a list as text, and text unchanged."""
        return value if isinstance(value, str) else ", ".join(map(_quote, value or ()))

    def to_python(self, value: str | None) -> list[str]:
        """Parse the list, without empty entries. Raises ValidationError."""
        line = (value or "").replace("\n", " ").replace("\r", " ")
        try:
            entries = next(csv.reader([line], skipinitialspace=True), [])
        except csv.Error as error:
            raise forms.ValidationError(_("This list is too long or can’t be read.")) from error
        return list(filter(None, map(str.strip, entries)))


class LinesField(forms.CharField):
    """Multi-line text; line ends are converted from browsers' CRLF to LF."""

    widget = forms.Textarea(attrs={"rows": 3})

    def to_python(self, value: Any) -> str:
        """Return the text with LF line ends."""
        return (super().to_python(value) or "").replace("\r\n", "\n")


class DescriptionForm(forms.Form):
    """The fields that sources of all kinds have."""

    #: Fields shown at once; the others are options.
    main_fields: ClassVar[Collection[str]] = ("title", "description", "schedule", "watch")

    title = forms.CharField(max_length=MAX_TITLE_CHARS, label=_("Title"))
    description = LinesField(
        required=False,
        max_length=10_000,
        label=_("Description"),
        help_text=_("Shown to people and tools that choose where to search."),
    )
    tags = ListField(
        required=False,
        label=_("Tags"),
        help_text=_("Comma-separated. Applied to documents without tags of their own, from the next change."),
    )
    trust = forms.ChoiceField(
        choices=[(level.value, level.label) for level in reversed(Trust)],
        label=_("Trust"),
        help_text=_("How reliable its documents are, unless they state it themselves."),
    )
    is_restricted = forms.BooleanField(
        required=False, label=_("Restrict to groups; owners and admins always have access")
    )
    readers = forms.MultipleChoiceField(
        required=False, label=_("Groups"), widget=forms.CheckboxSelectMultiple, choices=()
    )

    def __init__(self, *args: Any, groups: Iterable[Group] | None, **options: Any) -> None:
        """Create the form; `groups` are the choices of readers, None if the visitor may not choose any."""
        super().__init__(*args, **options)
        if groups is None:
            del self.fields["is_restricted"], self.fields["readers"]
        else:
            self.fields["readers"].choices = [(str(group.pk), group.name) for group in groups]  # type: ignore[attr-defined]  # a ChoiceField

    def main(self) -> list[forms.BoundField]:
        """Return the fields that are shown at once."""
        return [field for field in self if field.name in self.main_fields]

    def options(self) -> list[forms.BoundField]:
        """Return the fields that are shown when somebody opens them."""
        return [field for field in self if field.name not in self.main_fields]

    def has_wrong_option(self) -> bool:
        """Return whether one of the options has an error."""
        return any(field.errors for field in self.options())

    def common_fields(self) -> dict[str, Any]:
        """Return the fields of the API's body that all kinds have."""
        clean = self.cleaned_data
        body = {
            "description": clean["description"],
            "default_tags": clean["tags"],
            "default_trust": clean["trust"],
        }
        if "is_restricted" in self.fields:
            body["readers"] = clean["readers"] if clean["is_restricted"] else None
        return body

    def add_problem(self, problem: Problem) -> None:
        """Show the problem at the fields that it is about, or above all fields."""
        field_errors = [(self._field_of(error.field), error.message) for error in problem.errors]
        for name, message in field_errors or [(_FIELDS.get(problem.code, ""), problem.detail)]:
            self.add_error(name if name in self.fields else None, message)

    def _field_of(self, name: str) -> str:
        """Return the form's field for an API field such as `config.include[0]`."""
        whole = name.partition("[")[0]
        last = whole.rpartition(".")[2]
        if last in self.fields and whole not in _FIELDS:
            return last
        if "credentials." in whole:
            whole = "credentials"
        return _FIELDS.get(whole, last)


class SyncedForm(DescriptionForm):
    """The fields of a source that is synced: its schedule."""

    schedule = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        label=_("Sync"),
        choices=(),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        current = self.initial.get("schedule")
        intervals = sorted({*_INTERVALS, *([current] if current else [])})
        choices = [(minutes, every_minutes(minutes)) for minutes in intervals if minutes >= LEAST_INTERVAL]
        self.fields["schedule"].choices = [("", _NO_SCHEDULE), *choices]  # type: ignore[attr-defined]  # a ChoiceField

    def common_fields(self) -> dict[str, Any]:
        """Return the fields of the API's body. An unchanged schedule is omitted: setting it ends a pause."""
        body = super().common_fields()
        if "schedule" in self.changed_data:
            body["sync_every_minutes"] = self.cleaned_data["schedule"]
        return body


class CredentialsForm(forms.Form):
    """The credentials of a repository, which are never shown."""

    username = forms.CharField(
        required=False, label=_("User name"), help_text=_("For private repositories, if the host needs one.")
    )
    token = forms.CharField(
        required=False,
        label=_("Access token"),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("For private repositories. Stored encrypted, never shown again."),
    )

    def credentials(self) -> dict[str, str]:
        """Return the credentials that were filled in."""
        return {name: self.cleaned_data[name] for name in CREDENTIALS if self.cleaned_data[name]}


def make_field(field: ConnectorField) -> forms.Field:
    """Return the form's field for one that a kind of source declares."""
    options: dict[str, Any] = {"required": field.is_required, "label": field.label, "help_text": field.help}
    if field.type == "list":
        return ListField(**options)
    if field.type == "flag":
        return forms.BooleanField(**options)
    if field.type == "secret":
        widget = forms.PasswordInput(attrs={"autocomplete": "off"})
        help_text = field.help or _("Stored encrypted, never shown again.")
        return forms.CharField(strip=False, widget=widget, **{**options, "help_text": help_text})
    return forms.CharField(**options)


def filled_in_credentials(clean: Mapping[str, Any], declared: ConnectorKind) -> dict[str, str]:
    """Return the credentials that were filled in."""
    return {each.name: clean[each.name] for each in declared.credential_fields if clean.get(each.name)}


class SourceForm(CredentialsForm, SyncedForm):
    """The editable fields of a source; fields that its kind doesn't have are removed."""

    watch = forms.BooleanField(required=False, label=_("Sync when files change"))
    is_forgetting = forms.BooleanField(required=False, label=_("Delete the stored credentials"))
    field_order = ("title", *COMMON_FIELDS, *CREDENTIALS, "is_forgetting")

    def __init__(self, *args: Any, source: Source, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in _inapplicable_fields(source):
            del self.fields[name]
        self._declared = RECORD_KINDS.get(source.kind)
        if self._declared is not None:
            for field in self._declared.credential_fields:
                self.fields[field.name] = make_field(field)
                self.fields[field.name].required = False
        if "is_forgetting" in self.fields and "token" in self.fields:
            self.fields["token"].help_text = _("A token is stored. Leave empty to keep it.")

    def body(self) -> dict[str, Any]:
        """Return the API's body that updates the source, with only the changed fields."""
        clean, changed = self.cleaned_data, {*self.changed_data}
        if "is_restricted" in changed:
            changed.add("readers")
        values = {"title": clean["title"], "watch": clean.get("watch"), **self.common_fields()}
        body = {name: value for name, value in values.items() if _FIELDS.get(name, name) in changed}
        return {
            **body,
            **({"credentials": self.credentials() or None} if changed & self._credential_inputs else {}),
        }

    @property
    def _credential_inputs(self) -> set[str]:
        """Return the inputs that change the credentials when filled in or ticked."""
        declared = [] if self._declared is None else self._declared.credential_fields
        return {*_CREDENTIAL_INPUTS, *(field.name for field in declared)}

    def credentials(self) -> dict[str, str]:
        """Return the credentials that were filled in."""
        if self._declared is not None:
            return filled_in_credentials(self.cleaned_data, self._declared)
        return super().credentials()


# Inputs that change the credentials when filled in or ticked.
_CREDENTIAL_INPUTS = frozenset({*CREDENTIALS, "is_forgetting"})


def _inapplicable_fields(source: Source) -> set[str]:
    """Return the fields that a source of this kind, or without credentials, doesn't have."""
    inapplicable = set() if source.kind == SourceKind.FOLDER else {"watch"}
    if source.kind == SourceKind.UPLOAD:
        inapplicable.add("schedule")
    if source.kind in RECORD_KINDS:
        inapplicable |= {*CREDENTIALS}
    elif source.kind != SourceKind.GIT:
        return inapplicable | _CREDENTIAL_INPUTS
    return inapplicable if source.sealed_credentials else inapplicable | {"is_forgetting"}


def _quote(entry: str) -> str:
    is_plain = "," not in entry and not entry.startswith('"')
    return entry if is_plain else '"' + entry.replace('"', '""') + '"'
