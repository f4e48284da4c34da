"""Forms that add and edit sources, made of the declarations of their kinds, and the API's request bodies.

The forms only check the shape of values; the serializers of the API validate the bodies.
"""

import csv
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from ingest.connectors.declaration import ConnectorField, ConnectorKind
from ingest.connectors.kinds import kind_of
from ingest.jobs.queue.schedule import LEAST_INTERVAL
from ingest.templatetags.labels import every_minutes
from kebab.errors import Problem
from kebab.identity.models import Group
from search.models import Source, Trust
from search.models.source import MAX_TITLE_CHARS

_MAX_KEY_CHARS = 63
_INTERVALS = (15, 60, 24 * 60, 7 * 24 * 60)
# Fields of all kinds, shown after the kind's own fields and before the readers.
_COMMON_FIELDS = ("description", "tags", "trust", "schedule", "watch")
_NO_SCHEDULE = _("Manually")
# API field names, and codes of errors without a field, by the form fields that show them.
_FIELDS: Mapping[str, str] = {
    "name": "title",
    "default_tags": "tags",
    "default_trust": "trust",
    "sync_every_minutes": "schedule",
    "config": "url",
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
    """The fields of a source, without those that its kind doesn't have."""

    #: Fields shown at once; the others are options.
    main_fields: Collection[str] = ("title", "description", "schedule", "watch")

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
    schedule = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, label=_("Sync"), choices=()
    )
    watch = forms.BooleanField(required=False, label=_("Sync when files change"))
    is_restricted = forms.BooleanField(
        required=False, label=_("Restrict to groups; owners and admins always have access")
    )
    readers = forms.MultipleChoiceField(
        required=False, label=_("Groups"), widget=forms.CheckboxSelectMultiple, choices=()
    )

    def __init__(
        self, *args: Any, declared: ConnectorKind, groups: Iterable[Group] | None, **options: Any
    ) -> None:
        """Create the form; `groups` are the choices of readers, None if the visitor may not choose any."""
        super().__init__(*args, **options)
        self.declared = declared
        if groups is None:
            del self.fields["is_restricted"], self.fields["readers"]
        else:
            self.fields["readers"].choices = [(str(group.pk), group.name) for group in groups]  # type: ignore[attr-defined]  # a ChoiceField
        if not declared.is_watchable:
            del self.fields["watch"]
        if declared.is_synced:
            current = self.initial.get("schedule")
            intervals = sorted({*_INTERVALS, *([current] if current else [])})
            choices = [
                (minutes, every_minutes(minutes)) for minutes in intervals if minutes >= LEAST_INTERVAL
            ]
            self.fields["schedule"].choices = [("", _NO_SCHEDULE), *choices]  # type: ignore[attr-defined]  # a ChoiceField
        else:
            del self.fields["schedule"]

    def add_inputs(self, declared: Iterable[ConnectorField]) -> list[str]:
        """Add the inputs of fields that pages have; return their names."""
        inputs = {field.input: _make_input(field) for field in declared if field.label}
        self.fields.update(inputs)
        return list(inputs)

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
        """Return the fields of the API's body that all kinds have.

        An unchanged schedule is omitted: setting it ends a pause.
        """
        clean = self.cleaned_data
        body = {
            "description": clean["description"],
            "default_tags": clean["tags"],
            "default_trust": clean["trust"],
        }
        if "is_restricted" in self.fields:
            body["readers"] = clean["readers"] if clean["is_restricted"] else None
        if "watch" in self.fields:
            body["watch"] = clean["watch"]
        if "schedule" in self.changed_data:
            body["sync_every_minutes"] = clean["schedule"]
        return body

    def credentials(self) -> dict[str, str]:
        """Return the credentials that were filled in."""
        return self._filled_in(self.declared.credential_fields)

    def _filled_in(self, declared: Iterable[ConnectorField]) -> dict[str, Any]:
        clean = self.cleaned_data
        return {field.name: clean[field.input] for field in declared if clean.get(field.input)}

    def add_problem(self, problem: Problem) -> None:
        """Show the problem at the fields that it is about, or above all fields."""
        field_errors = [(self._field_of(error.field), error.message) for error in problem.errors]
        for name, message in field_errors or [(_FIELDS.get(problem.code, ""), problem.detail)]:
            self.add_error(name if name in self.fields else None, message)

    def _field_of(self, name: str) -> str:
        """Return the form's field for an API field such as `config.include[0]`."""
        whole = name.partition("[")[0]
        last = whole.rpartition(".")[2]
        if whole.startswith("config."):
            last = next((each.input for each in self.declared.config_fields if each.name == last), last)
        if last in self.fields and whole not in _FIELDS:
            return last
        if "credentials." in whole:
            whole = "credentials"
        return _FIELDS.get(whole, last)


class NewSourceForm(DescriptionForm):
    """The form of a new source."""

    title = forms.CharField(
        required=False,
        max_length=MAX_TITLE_CHARS,
        label=_("Title"),
        help_text=_("Created from the address if empty."),
    )
    key = forms.CharField(
        required=False,
        max_length=_MAX_KEY_CHARS,
        label=_("Key"),
        help_text=_(
            "Lower-case letters, digits and hyphens. Can’t be changed later. Created from the title if empty."
        ),
    )

    def __init__(self, *args: Any, declared: ConnectorKind, **options: Any) -> None:
        super().__init__(*args, declared=declared, **options)
        inputs = self.add_inputs(declared.fields)
        self.main_fields = declared.main_inputs
        for name in declared.asked:
            self.fields[name].required = True
        self.order_fields((*self.main_fields, "title", "key", *inputs, *_COMMON_FIELDS))

    def body(self) -> dict[str, Any]:
        """Return the API's body that creates the source."""
        clean, credentials = self.cleaned_data, self.credentials()
        config = self._filled_in(self.declared.config_fields)
        derived = "" if clean["title"] else self.declared.derive_title(config)
        key = clean["key"] or slugify(derived.replace(".", " ").replace("/", " "))[:_MAX_KEY_CHARS].strip("-")
        body = {
            "kind": self.declared.kind,
            "name": clean["title"] or derived[:MAX_TITLE_CHARS],
            "config": {**config, **({"credentials": credentials} if credentials else {})},
            **self.common_fields(),
        }
        if body.get("readers", ()) is None:
            del body["readers"]
        return {**body, **({"key": key} if key else {})}


class SourceForm(DescriptionForm):
    """The form that edits a source."""

    is_forgetting = forms.BooleanField(required=False, label=_("Delete the stored credentials"))

    def __init__(self, *args: Any, source: Source, **options: Any) -> None:
        super().__init__(*args, declared=kind_of(source.kind), **options)
        inputs = self.add_inputs(self.declared.credential_fields)
        for name in inputs:
            self.fields[name].required = False
        if not source.sealed_credentials:
            del self.fields["is_forgetting"]
        elif "token" in self.fields:
            self.fields["token"].help_text = _("A token is stored. Leave empty to keep it.")
        self._credential_inputs = {*inputs, "is_forgetting"}
        self.order_fields(("title", *_COMMON_FIELDS, *inputs, "is_forgetting"))

    def body(self) -> dict[str, Any]:
        """Return the API's body that updates the source, with only the changed fields."""
        changed = {*self.changed_data}
        if "is_restricted" in changed:
            changed.add("readers")
        values = {"title": self.cleaned_data["title"], **self.common_fields()}
        body = {name: value for name, value in values.items() if _FIELDS.get(name, name) in changed}
        return {
            **body,
            **({"credentials": self.credentials() or None} if changed & self._credential_inputs else {}),
        }


def _make_input(field: ConnectorField) -> forms.Field:
    options: dict[str, Any] = {"required": field.is_required, "label": field.label, "help_text": field.help}
    if field.type in ("list", "patterns"):
        return ListField(**options)
    if field.type == "flag":
        return forms.BooleanField(**options)
    if field.type == "number":
        return forms.IntegerField(min_value=field.limits[0], **options)
    is_stripped = field.type not in ("path", "secret")
    if field.type in ("secret", "token"):
        options["widget"] = forms.PasswordInput(attrs={"autocomplete": "off"})
        options["help_text"] = field.help or _("Stored encrypted, never shown again.")
    return forms.CharField(strip=is_stripped, **options)


def _quote(entry: str) -> str:
    is_plain = "," not in entry and not entry.startswith('"')
    return entry if is_plain else '"' + entry.replace('"', '""') + '"'
