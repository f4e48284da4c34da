"""Forms that add sources, one for each kind."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from ingest.connectors.git.address import parse_address
from ingest.connectors.records.declaration import ConnectorKind
from ingest.connectors.records.kinds import RECORD_KINDS
from ingest.errors import AddressNotAllowed
from ingest.pages.sources.forms import (
    COMMON_FIELDS,
    CREDENTIALS,
    CredentialsForm,
    ListField,
    SyncedForm,
    filled_in_credentials,
    make_field,
)
from search.models import SourceKind
from search.models.source import MAX_TITLE_CHARS

_MAX_KEY_CHARS = 63


class NewSourceForm(SyncedForm):
    """The form of a new source."""

    kind: ClassVar[SourceKind]
    #: Whether its connection can be tested before it is added.
    can_test: ClassVar[bool] = True
    main_fields = ("url",)
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

    def body(self) -> dict[str, Any]:
        """Return the API's body that creates the source."""
        clean = self.cleaned_data
        derived = "" if clean["title"] else self.derived_title()
        key = clean["key"] or slugify(derived.replace(".", " ").replace("/", " "))[:_MAX_KEY_CHARS].strip("-")
        body = {
            "kind": self.kind.value,
            "name": clean["title"] or derived[:MAX_TITLE_CHARS],
            "config": self.config(),
            **self.common_fields(),
        }
        if body.get("readers", ()) is None:
            del body["readers"]
        return {**body, **({"key": key} if key else {})}

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        raise NotImplementedError

    def derived_title(self) -> str:
        """Return a title made of what it reads; '' if that says none."""
        raise NotImplementedError


class NewFolderForm(NewSourceForm):
    """A folder of the server."""

    kind = SourceKind.FOLDER
    can_test = False
    main_fields = ("path",)
    path = forms.CharField(label=_("Folder"), max_length=4_000, strip=False)
    watch = forms.BooleanField(required=False, label=_("Sync when files change"))
    field_order = ("path", "title", "key", *COMMON_FIELDS)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        roots = ", ".join(map(str, settings.KEBAB_FOLDER_ROOTS[:5]))
        self.fields["path"].help_text = _("On this server, in %(roots)s. Includes subfolders.") % {
            "roots": roots
        }

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        return {"path": self.cleaned_data["path"]}

    def derived_title(self) -> str:
        """Return the name of the folder."""
        return PurePath(self.cleaned_data["path"]).name

    def common_fields(self) -> dict[str, Any]:
        """Return the fields of the API's body, with `watch`."""
        return {**super().common_fields(), "watch": self.cleaned_data["watch"]}


class NewGitForm(CredentialsForm, NewSourceForm):
    """A git repository."""

    kind = SourceKind.GIT
    url = forms.CharField(
        label=_("URL"),
        help_text=_("For example https://github.com/owner/project or git@host:owner/project.git"),
    )
    branch = forms.CharField(required=False, label=_("Branch"), help_text=_("The default branch if empty."))
    version_tags = ListField(
        required=False,
        label=_("Version tags"),
        help_text=_("Comma-separated patterns such as v*. Each matching tag becomes a version."),
    )
    field_order = ("url", "title", "key", "branch", "version_tags", *CREDENTIALS, *COMMON_FIELDS)

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        clean = self.cleaned_data
        given = {"branch": clean["branch"], "tags": clean["version_tags"]}
        config = {"url": clean["url"], **{name: value for name, value in given.items() if value}}
        credentials = self.credentials()
        return {**config, **({"credentials": credentials} if credentials else {})}

    def derived_title(self) -> str:
        """Return the name of the repository; '' for an address that is refused later."""
        try:
            return parse_address(self.cleaned_data["url"]).name
        except AddressNotAllowed:
            return ""


class NewSiteForm(NewSourceForm):
    """A web site."""

    kind = SourceKind.WEB
    url = forms.CharField(
        label=_("URL"), help_text=_("The start page. Pages below it are read; robots.txt is respected.")
    )
    include = ListField(
        required=False,
        label=_("Include only"),
        help_text=_("Comma-separated path patterns, such as docs/**"),
    )
    exclude = ListField(
        required=False, label=_("Exclude"), help_text=_("Comma-separated path patterns, such as blog/**")
    )
    max_pages = forms.IntegerField(required=False, min_value=1, label=_("Page limit"))
    field_order = ("url", "title", "key", "include", "exclude", "max_pages", *COMMON_FIELDS)

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        clean = self.cleaned_data
        given = {name: clean[name] for name in ("include", "exclude", "max_pages")}
        return {"url": clean["url"], **{name: value for name, value in given.items() if value}}

    def derived_title(self) -> str:
        """Return the host and the path of the start page."""
        split = urlsplit(self.cleaned_data["url"])
        return f"{split.hostname or ''}{split.path}".rstrip("/")


class NewRecordForm(NewSourceForm):
    """A source on the connector protocol, with the fields that its kind declares."""

    declared: ClassVar[ConnectorKind]

    def config(self) -> dict[str, Any]:
        """Return the source's configuration."""
        clean = self.cleaned_data
        config = {each.name: clean[each.name] for each in self.declared.config_fields if clean[each.name]}
        credentials = filled_in_credentials(clean, self.declared)
        return {**config, **({"credentials": credentials} if credentials else {})}

    def derived_title(self) -> str:
        """Return the names of what it reads."""
        clean = self.cleaned_data
        words = [str(clean.get(name) or "") for name in ("bucket", "prefix")]
        if not any(words):
            split = urlsplit(str(clean.get("url", clean.get("program", ""))))
            words = [split.hostname or "", split.path.removesuffix("api.php").strip("/")]
        return " ".join(filter(None, words)).strip("/")


def _record_form(declared: ConnectorKind) -> type[NewRecordForm]:
    names = [field.name for field in declared.fields]
    members = {field.name: make_field(field) for field in declared.fields}
    main = [field.name for field in declared.fields if field.is_required or field.is_credential]
    attributes = {"kind": declared.kind, "declared": declared, "main_fields": main}
    order = (*main, "title", "key", *names, *COMMON_FIELDS)
    name = f"New{declared.kind.value.title()}Form"
    return type(
        name, (NewRecordForm,), {**members, **attributes, "field_order": order, "__module__": __name__}
    )


#: The form of each kind, in the order in which the page offers them.
NEW_SOURCE_FORMS: Mapping[str, type[NewSourceForm]] = {
    **{form.kind.value: form for form in (NewSiteForm, NewGitForm)},
    **{kind: _record_form(declared) for kind, declared in RECORD_KINDS.items()},
    NewFolderForm.kind.value: NewFolderForm,
}


def offered_kinds() -> list[str]:
    """Return the kinds that this server allows to add."""
    needs = {SourceKind.FOLDER: settings.KEBAB_FOLDER_ROOTS, SourceKind.PROGRAM: settings.KEBAB_CONNECTORS}
    return [kind for kind in NEW_SOURCE_FORMS if needs.get(SourceKind(kind), True)]
