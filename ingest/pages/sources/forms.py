"""What people fill in to add a source or to say something else of it, and the body that the API takes for it.

The forms give shape alone: what may be is decided where the API's bodies are checked.
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
# After what a kind has of its own, and before who reads it.
_SAID = ("description", "tags", "trust", "schedule", "watch")
_CREDENTIALS = ("username", "token")
_NO_SCHEDULE = "Only when somebody asks"
# The API's names of fields, and of errors that name none, to those of the forms.
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
    """A list whose entries stand between commas; in quotes an entry may have commas itself."""

    widget = forms.TextInput

    def prepare_value(self, value: Any) -> str:
        """Return the text for a list; text as it is."""
        return value if isinstance(value, str) else ", ".join(map(_quoted, value or ()))

    def to_python(self, value: str | None) -> list[str]:
        """Return the list, without empty entries. Raises ValidationError."""
        line = (value or "").replace("\n", " ").replace("\r", " ")
        try:
            entries = next(csv.reader([line], skipinitialspace=True), [])
        except csv.Error as error:
            raise forms.ValidationError("It can’t be read as a list; shorten it.") from error
        return list(filter(None, map(str.strip, entries)))


class LinesField(forms.CharField):
    """Text of several lines, each ended as it is stored, not as browsers send it."""

    widget = forms.Textarea(attrs={"rows": 3})

    def to_python(self, value: Any) -> str:
        """Return the text."""
        return super().to_python(value).replace("\r\n", "\n")


class DescriptionForm(forms.Form):
    """What is said of any source."""

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
        help_text="How far its text can be relied on.",
    )
    is_restricted = forms.BooleanField(required=False, label="Only these groups, owners and admins read it")
    readers = forms.MultipleChoiceField(
        required=False, label="Groups", widget=forms.CheckboxSelectMultiple, choices=()
    )

    def __init__(self, *args: Any, groups: Iterable[Group] | None, **options: Any) -> None:
        """`groups` are those that readers are chosen of; None: the visitor may not choose any."""
        super().__init__(*args, **options)
        if groups is None:
            del self.fields["is_restricted"], self.fields["readers"]
        else:
            self.fields["readers"].choices = [(str(group.pk), group.name) for group in groups]  # type: ignore[attr-defined]

    def said(self) -> dict[str, Any]:
        """Return the fields of the API's body."""
        clean = self.cleaned_data
        body = {
            "description": clean["description"],
            "default_tags": clean["tags"],
            "default_trust": clean["trust"],
        }
        if "is_restricted" in self.fields:
            body["readers"] = clean["readers"] if clean["is_restricted"] else None
        return body

    def tell(self, problem: Problem) -> None:
        """Show why it can't be done beside the fields that have to do with it, or above them all."""
        named = [(_field(error.field), error.message) for error in problem.errors]
        for name, message in named or [(_FIELDS.get(problem.code, ""), problem.detail)]:
            self.add_error(name if name in self.fields else None, message)


class SyncedForm(DescriptionForm):
    """Of a source that is read again: when."""

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
        stated = self.initial.get("schedule")
        intervals = sorted({*_INTERVALS, *([stated] if stated else [])})
        named = [(minutes, every_minutes(minutes)) for minutes in intervals if minutes >= LEAST_INTERVAL]
        self.fields["schedule"].choices = [("", _NO_SCHEDULE), *named]  # type: ignore[attr-defined]

    def said(self) -> dict[str, Any]:
        """Return the fields of the API's body. A schedule that stays isn't stated: that would end
        its pause.
        """
        body = super().said()
        if "schedule" in self.changed_data:
            body["sync_every_minutes"] = self.cleaned_data["schedule"]
        return body


class NewSourceForm(SyncedForm):
    """A source to be."""

    kind: ClassVar[SourceKind]
    key = forms.CharField(
        required=False,
        max_length=63,
        help_text="Lower-case letters, digits and hyphens; it never changes. Left empty, the title gives it.",
    )

    def body(self) -> dict[str, Any]:
        """Return the API's body that makes it."""
        clean = self.cleaned_data
        body = {"kind": self.kind.value, "name": clean["title"], "config": self.config(), **self.said()}
        if body.get("readers", ()) is None:
            del body["readers"]
        return {**body, **({"key": clean["key"]} if clean["key"] else {})}

    def config(self) -> dict[str, Any]:
        """Return what it reads."""
        raise NotImplementedError


class NewFolderForm(NewSourceForm):
    """A folder of the server."""

    kind = SourceKind.FOLDER
    path = forms.CharField(label="Folder", max_length=4_000, strip=False)
    watch = forms.BooleanField(required=False, label="Sync soon after something in it has changed")
    field_order = ("path", "title", "key", *_SAID)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        roots = ", ".join(map(str, settings.KEBAB_FOLDER_ROOTS[:5]))
        none = "The operator allows no folder yet (KEBAB_FOLDER_ROOTS)."
        self.fields["path"].help_text = f"On the server, below {roots}." if roots else none

    def config(self) -> dict[str, Any]:
        """Return what it reads."""
        return {"path": self.cleaned_data["path"]}

    def said(self) -> dict[str, Any]:
        """Return the fields of the API's body."""
        return {**super().said(), "watch": self.cleaned_data["watch"]}


class CredentialsForm(forms.Form):
    """What a repository is read with, which is never shown."""

    username = forms.CharField(required=False, help_text="For a private repository, if its host wants one.")
    token = forms.CharField(
        required=False,
        label="Access token",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="For a private repository. It is stored encrypted and never shown again.",
    )

    def credentials(self) -> dict[str, str]:
        """Return what was filled in of them."""
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
    field_order = ("url", "title", "key", "branch", "version_tags", *_CREDENTIALS, *_SAID)

    def config(self) -> dict[str, Any]:
        """Return what it reads."""
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
    field_order = ("url", "title", "key", "include", "exclude", "max_pages", *_SAID)

    def config(self) -> dict[str, Any]:
        """Return what it reads."""
        clean = self.cleaned_data
        given = {name: clean[name] for name in ("include", "exclude", "max_pages")}
        return {"url": clean["url"], **{name: value for name, value in given.items() if value}}


class SourceForm(CredentialsForm, SyncedForm):
    """What may be changed of a source; fields that its kind doesn't have are left out."""

    watch = forms.BooleanField(required=False, label="Sync soon after something in it has changed")
    is_forgetting = forms.BooleanField(required=False, label="Forget the access token that is stored")
    field_order = ("title", *_SAID, *_CREDENTIALS, "is_forgetting")

    def __init__(self, *args: Any, source: Source, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in _lacking(source):
            del self.fields[name]
        if "is_forgetting" in self.fields:
            self.fields["token"].help_text = "One is stored. Left empty, it stays; it is never shown."

    def body(self) -> dict[str, Any]:
        """Return the API's body that changes it, with what was changed in the form and nothing else."""
        clean, changed = self.cleaned_data, {*self.changed_data}
        if "is_restricted" in changed:
            changed.add("readers")
        said = {"title": clean["title"], "watch": clean.get("watch"), **self.said()}
        body = {name: value for name, value in said.items() if _FIELDS.get(name, name) in changed}
        return {**body, **({"credentials": self.credentials() or None} if changed & _STATING else {})}


# What is filled in or ticked where other credentials are stated.
_STATING = frozenset({*_CREDENTIALS, "is_forgetting"})


def _lacking(source: Source) -> set[str]:
    """Return the fields that a source of this kind, or without credentials, doesn't have."""
    lacking = set() if source.kind == SourceKind.FOLDER else {"watch"}
    if source.kind == SourceKind.UPLOAD:
        lacking.add("schedule")
    if source.kind != SourceKind.GIT:
        return lacking | _STATING
    return lacking if source.sealed_credentials else lacking | {"is_forgetting"}


#: By kind, in the order in which they are offered.
NEW: Mapping[str, type[NewSourceForm]] = {
    form.kind.value: form for form in (NewFolderForm, NewGitForm, NewSiteForm)
}


def _quoted(entry: str) -> str:
    is_plain = "," not in entry and not entry.startswith('"')
    return entry if is_plain else '"' + entry.replace('"', '""') + '"'


def _field(name: str) -> str:
    """Return the form's name of one of the API's, such as `config.include[0]`."""
    whole = name.partition("[")[0]
    if whole.startswith("config.credentials."):
        whole = "config.credentials"
    return _FIELDS.get(whole, whole.rpartition(".")[2])
