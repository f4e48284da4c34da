"""What people fill in to add a source or to say something else of it, and the body that the API takes for it.

The forms give shape alone: what may be is decided where the API's bodies are checked.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from ingest.jobs.schedule import LEAST_INTERVAL
from ingest.templatetags.wording import every_minutes
from kebab.api.errors import Problem
from kebab.people.models import Group
from search.models import Source, SourceKind, Trust
from search.models.source import MAX_TITLE_CHARS

_INTERVALS = (15, 60, 24 * 60, 7 * 24 * 60)
# After what a kind has of its own, and before who reads it.
_SAID = ("description", "tags", "trust", "schedule", "watch")
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


class DescriptionForm(forms.Form):
    """What is said of any source."""

    title = forms.CharField(max_length=MAX_TITLE_CHARS, label="Title")
    description = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What is in it, for those who choose where to search.",
    )
    tags = forms.CharField(
        required=False,
        help_text="Between commas. Documents that are read from now on get them, unless they say others.",
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
        """Give the fields of the API's body."""
        clean = self.cleaned_data
        body = {
            "description": clean["description"],
            "default_tags": list(_between_commas(clean["tags"])),
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
        """Give the fields of the API's body. A schedule that stays isn't stated: that would end its pause."""
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
        """Give the API's body that makes it."""
        clean = self.cleaned_data
        body = {"kind": self.kind.value, "name": clean["title"], "config": self.config(), **self.said()}
        if body.get("readers", ()) is None:
            del body["readers"]
        return {**body, **({"key": clean["key"]} if clean["key"] else {})}

    def config(self) -> dict[str, Any]:
        """Give what it reads."""
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
        """Give what it reads."""
        return {"path": self.cleaned_data["path"]}

    def said(self) -> dict[str, Any]:
        """Give the fields of the API's body."""
        return {**super().said(), "watch": self.cleaned_data["watch"]}


class NewGitForm(NewSourceForm):
    """A git repository."""

    kind = SourceKind.GIT
    url = forms.CharField(label="Address", help_text="https://…, or git@host:path by ssh.")
    branch = forms.CharField(required=False, help_text="Left empty: the default branch.")
    version_tags = forms.CharField(
        required=False,
        label="Tags that are versions",
        help_text="Patterns between commas, such as v*: a tag that matches becomes a version.",
    )
    username = forms.CharField(required=False, help_text="For a private repository, if its host wants one.")
    token = forms.CharField(
        required=False,
        label="Access token",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="For a private repository. It is stored encrypted and never shown again.",
    )
    field_order = ("url", "title", "key", "branch", "version_tags", "username", "token", *_SAID)

    def config(self) -> dict[str, Any]:
        """Give what it reads."""
        clean = self.cleaned_data
        given = {"branch": clean["branch"], "tags": list(_between_commas(clean["version_tags"]))}
        config = {"url": clean["url"], **{name: value for name, value in given.items() if value}}
        credentials = {name: clean[name] for name in ("username", "token") if clean[name]}
        return {**config, **({"credentials": credentials} if credentials else {})}


class NewSiteForm(NewSourceForm):
    """A web site."""

    kind = SourceKind.WEB
    url = forms.CharField(label="Address", help_text="The page to begin with; what lies below it is read.")
    include = forms.CharField(
        required=False,
        label="Only these pages",
        help_text="Patterns of paths between commas, such as docs/**.",
    )
    exclude = forms.CharField(
        required=False, label="Not these pages", help_text="Patterns of paths between commas."
    )
    max_pages = forms.IntegerField(required=False, min_value=1, label="At most so many pages")
    field_order = ("url", "title", "key", "include", "exclude", "max_pages", *_SAID)

    def config(self) -> dict[str, Any]:
        """Give what it reads."""
        clean = self.cleaned_data
        patterns = {name: list(_between_commas(clean[name])) for name in ("include", "exclude")}
        given = {**patterns, "max_pages": clean["max_pages"]}
        return {"url": clean["url"], **{name: value for name, value in given.items() if value}}


class SourceForm(SyncedForm):
    """What may be changed of a source; fields that its kind doesn't have are left out."""

    watch = forms.BooleanField(required=False, label="Sync soon after something in it has changed")
    field_order = ("title", *_SAID)

    def __init__(self, *args: Any, source: Source, **options: Any) -> None:
        super().__init__(*args, **options)
        if source.kind != SourceKind.FOLDER:
            del self.fields["watch"]
        if source.kind == SourceKind.UPLOAD:
            del self.fields["schedule"]

    def body(self) -> dict[str, Any]:
        """Give the API's body that changes it."""
        watch = {"watch": self.cleaned_data["watch"]} if "watch" in self.fields else {}
        return {"title": self.cleaned_data["title"], **self.said(), **watch}


#: By kind, in the order in which they are offered.
NEW: Mapping[str, type[NewSourceForm]] = {
    form.kind.value: form for form in (NewFolderForm, NewGitForm, NewSiteForm)
}


def _between_commas(text: str) -> Iterable[str]:
    return filter(None, (part.strip() for part in text.split(",")))


def _field(name: str) -> str:
    """Give the form's name of one of the API's, such as `config.include[0]`."""
    whole = name.partition("[")[0]
    if whole.startswith("config.credentials."):
        whole = "config.credentials"
    return _FIELDS.get(whole, whole.rpartition(".")[2])
