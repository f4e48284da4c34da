"""Forms that add and edit sources, and the API request bodies built from them.

The forms only check the shape of values; the serializers of the API validate the bodies.
"""

import csv
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from ingest.jobs.queue.schedule import LEAST_INTERVAL
from ingest.templatetags.labels import every_minutes
from kebab.http.api.errors import Problem
from kebab.people.models import Group
from search.models import Source, SourceKind, Trust
from search.models.source import MAX_TITLE_CHARS

_INTERVALS = (15, 60, 24 * 60, 7 * 24 * 60)
# Fields of all kinds, shown after the kind's own fields and before the readers.
_COMMON_FIELDS = ("description", "tags", "trust", "schedule", "watch")
_CREDENTIALS = ("username", "token")
_NO_SCHEDULE = "Only when somebody asks"
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
            raise forms.ValidationError("It can’t be read as a list; shorten it.") from error
        return list(filter(None, map(str.strip, entries)))


class LinesField(forms.CharField):
    """Multi-line text; line ends are converted from browsers' CRLF to LF."""

    widget = forms.Textarea(attrs={"rows": 3})

    def to_python(self, value: Any) -> str:
        """Return the text with LF line ends."""
        return (super().to_python(value) or "").replace("\r\n", "\n")


class DescriptionForm(forms.Form):
    """The fields that sources of all kinds have."""

    title = forms.CharField(max_length=MAX_TITLE_CHARS, label="Title")
    description = LinesField(
        required=False,
        max_length=10_000,
        help_text="What is in it, for those who choose where to search.",
    )
    tags = ListField(
        required=False,
        help_text="Between commas; one that has a comma itself stands in quotes. Documents that are read from"
        " now on get them, unless they say others.",
    )
    trust = forms.ChoiceField(
        choices=[(level.value, level.value) for level in reversed(Trust)],
        help_text="How far its text can be relied on. It applies to all documents that state no other level.",
    )
    is_restricted = forms.BooleanField(required=False, label="Only these groups, owners and admins read it")
    readers = forms.MultipleChoiceField(
        required=False, label="Groups", widget=forms.CheckboxSelectMultiple, choices=()
    )

    def __init__(self, *args: Any, groups: Iterable[Group] | None, **options: Any) -> None:
        """Create the form; `groups` are the choices of readers, None if the visitor may not choose any."""
        super().__init__(*args, **options)
        if groups is None:
            del self.fields["is_restricted"], self.fields["readers"]
        else:
            self.fields["readers"].choices = [(str(group.pk), group.name) for group in groups]  # type: ignore[attr-defined]  # a ChoiceField

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
        field_errors = [(_field(error.field), error.message) for error in problem.errors]
        for name, message in field_errors or [(_FIELDS.get(problem.code, ""), problem.detail)]:
            self.add_error(name if name in self.fields else None, message)


class SyncedForm(DescriptionForm):
    """The fields of a source that is synced: its schedule."""

    schedule = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        label="Sync",
        choices=(),
        help_text="How often it is read again by itself.",
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


class NewSourceForm(SyncedForm):
    """The form of a new source."""

    kind: ClassVar[SourceKind]
    key = forms.CharField(
        required=False,
        max_length=63,
        help_text="Lower-case letters, digits and hyphens; it never changes. Left empty, the title gives it.",
    )

    def body(self) -> dict[str, Any]:
        """Return the API's body that creates the source."""
        clean = self.cleaned_data
        body = {
            "kind": self.kind.value,
            "name": clean["title"],
            "config": self.config(),
            **self.common_fields(),
        }
        if body.get("readers", ()) is None:
            del body["readers"]
        return {**body, **({"key": clean["key"]} if clean["key"] else {})}

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        raise NotImplementedError


class NewFolderForm(NewSourceForm):
    """A folder of the server."""

    kind = SourceKind.FOLDER
    path = forms.CharField(label="Folder", max_length=4_000, strip=False)
    watch = forms.BooleanField(required=False, label="Sync soon after something in it has changed")
    field_order = ("path", "title", "key", *_COMMON_FIELDS)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        roots = ", ".join(map(str, settings.KEBAB_FOLDER_ROOTS[:5]))
        none = "The operator allows no folder yet (KEBAB_FOLDER_ROOTS)."
        self.fields["path"].help_text = f"On the server, below {roots}." if roots else none

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        return {"path": self.cleaned_data["path"]}

    def common_fields(self) -> dict[str, Any]:
        """Return the fields of the API's body, with `watch`."""
        return {**super().common_fields(), "watch": self.cleaned_data["watch"]}


class CredentialsForm(forms.Form):
    """The credentials of a repository, which are never shown."""

    username = forms.CharField(required=False, help_text="For a private repository, if its host wants one.")
    token = forms.CharField(
        required=False,
        label="Access token",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="For a private repository. It is stored encrypted and never shown again.",
    )

    def credentials(self) -> dict[str, str]:
        """Return the credentials that were filled in."""
        return {name: self.cleaned_data[name] for name in _CREDENTIALS if self.cleaned_data[name]}


class NewGitForm(CredentialsForm, NewSourceForm):
    """A git repository."""

    kind = SourceKind.GIT
    url = forms.CharField(label="Address", help_text="https://…, or git@host:path by ssh.")
    branch = forms.CharField(required=False, help_text="Left empty: the default branch.")
    version_tags = ListField(
        required=False,
        label="Tags that are versions",
        help_text="Patterns between commas, such as v*: a tag that matches becomes a version.",
    )
    field_order = ("url", "title", "key", "branch", "version_tags", *_CREDENTIALS, *_COMMON_FIELDS)

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        clean = self.cleaned_data
        given = {"branch": clean["branch"], "tags": clean["version_tags"]}
        config = {"url": clean["url"], **{name: value for name, value in given.items() if value}}
        credentials = self.credentials()
        return {**config, **({"credentials": credentials} if credentials else {})}


class NewSiteForm(NewSourceForm):
    """A web site."""

    kind = SourceKind.WEB
    url = forms.CharField(label="Address", help_text="The page to begin with; what lies below it is read.")
    include = ListField(
        required=False,
        label="Only these pages",
        help_text="Patterns of paths between commas, such as docs/**.",
    )
    exclude = ListField(
        required=False, label="Not these pages", help_text="Patterns of paths between commas."
    )
    max_pages = forms.IntegerField(required=False, min_value=1, label="At most so many pages")
    field_order = ("url", "title", "key", "include", "exclude", "max_pages", *_COMMON_FIELDS)

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        clean = self.cleaned_data
        given = {name: clean[name] for name in ("include", "exclude", "max_pages")}
        return {"url": clean["url"], **{name: value for name, value in given.items() if value}}


class SourceForm(CredentialsForm, SyncedForm):
    """The editable fields of a source; fields that its kind doesn't have are removed."""

    watch = forms.BooleanField(required=False, label="Sync soon after something in it has changed")
    is_forgetting = forms.BooleanField(required=False, label="Forget the access token that is stored")
    field_order = ("title", *_COMMON_FIELDS, *_CREDENTIALS, "is_forgetting")

    def __init__(self, *args: Any, source: Source, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in _inapplicable_fields(source):
            del self.fields[name]
        if "is_forgetting" in self.fields:
            self.fields["token"].help_text = "One is stored. Left empty, it stays; it is never shown."

    def body(self) -> dict[str, Any]:
        """Return the API's body that updates the source, with only the changed fields."""
        clean, changed = self.cleaned_data, {*self.changed_data}
        if "is_restricted" in changed:
            changed.add("readers")
        values = {"title": clean["title"], "watch": clean.get("watch"), **self.common_fields()}
        body = {name: value for name, value in values.items() if _FIELDS.get(name, name) in changed}
        return {
            **body,
            **({"credentials": self.credentials() or None} if changed & _CREDENTIAL_INPUTS else {}),
        }


# Inputs that change the credentials when filled in or ticked.
_CREDENTIAL_INPUTS = frozenset({*_CREDENTIALS, "is_forgetting"})


def _inapplicable_fields(source: Source) -> set[str]:
    """Return the fields that a source of this kind, or without credentials, doesn't have."""
    inapplicable = set() if source.kind == SourceKind.FOLDER else {"watch"}
    if source.kind == SourceKind.UPLOAD:
        inapplicable.add("schedule")
    if source.kind != SourceKind.GIT:
        return inapplicable | _CREDENTIAL_INPUTS
    return inapplicable if source.sealed_credentials else inapplicable | {"is_forgetting"}


#: The form of each kind, in the order in which the page offers them.
NEW_SOURCE_FORMS: Mapping[str, type[NewSourceForm]] = {
    form.kind.value: form for form in (NewFolderForm, NewGitForm, NewSiteForm)
}


def _quote(entry: str) -> str:
    is_plain = "," not in entry and not entry.startswith('"')
    return entry if is_plain else '"' + entry.replace('"', '""') + '"'


def _field(name: str) -> str:
    """Return the form's field for an API field such as `config.include[0]`."""
    whole = name.partition("[")[0]
    if whole.startswith("config.credentials."):
        whole = "config.credentials"
    return _FIELDS.get(whole, whole.rpartition(".")[2])
