"""The kind of source that reads a git repository."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from ingest.connectors.declaration import ConnectorField, ConnectorKind, MayRead
from ingest.connectors.folder_kind import resolve_allowed_folder
from ingest.connectors.git.address import check_address, file_url, parse_address
from ingest.connectors.git.credentials import encrypt_credentials, parse_credentials
from ingest.connectors.git.source import list_references, open_repository
from ingest.connectors.types import Connector, OpenOptions
from ingest.errors import AddressNotAllowed
from search.models import Source, SourceKind
from search.models.source import MAX_TAG_CHARS


class _GitKind(ConnectorKind):
    def check_config(self, given: Mapping[str, Any], may_read: MayRead) -> Mapping[str, Any]:
        """Return the config with its address in normal form. Raises AddressNotAllowed, FolderNotAllowed."""
        address = parse_address(given["url"])
        check_address(address)
        if address.folder is None:
            return {**given, "url": address.url}
        return {**given, "url": file_url(resolve_allowed_folder(str(address.folder), may_read))}

    def seal_credentials(self, given: Mapping[str, str], config: Mapping[str, Any]) -> str:
        """Return the credentials for the address, encrypted; "" for none. Raises CredentialsRefused."""
        return encrypt_credentials(parse_credentials(given, parse_address(config["url"]))) if given else ""

    def derive_title(self, config: Mapping[str, Any]) -> str:
        """Return the name of the repository; "" for an address that is refused later."""
        try:
            return parse_address(config["url"]).name
        except AddressNotAllowed:
            return ""

    def open(self, options: OpenOptions) -> AbstractContextManager[Connector]:
        """Open a version of the repository; see `open_repository`."""
        return open_repository(options)

    def probe(self, source: Source, while_waiting: Callable[[], None]) -> str:
        """Count the branches and tags; see `list_references`."""
        found = list_references(source, while_waiting)
        branches = ngettext("%(n)d branch", "%(n)d branches", len(found.branches)) % {
            "n": len(found.branches)
        }
        tags = ngettext("%(n)d tag", "%(n)d tags", len(found.tags)) % {"n": len(found.tags)}
        return str(_("Connected: %(branches)s, %(tags)s.")) % {"branches": branches, "tags": tags}


GIT: Final = _GitKind(
    kind=SourceKind.GIT,
    label=_("Git repository"),
    heading=_("Add a git repository"),
    summary=_("Code and documentation of a branch, with tags as versions."),
    icon="git-branch",
    fields=(
        ConnectorField(
            name="url",
            label=_("URL"),
            help=_("For example https://github.com/owner/project or git@host:owner/project.git"),
            api_help="https, ssh (also git@host:path), or file below an allowed folder.",
            is_required=True,
        ),
        ConnectorField(
            name="branch",
            label=_("Branch"),
            help=_("The default branch if empty."),
            api_help="The default version; else the default branch.",
            max_chars=MAX_TAG_CHARS,
        ),
        ConnectorField(
            name="tags",
            label=_("Version tags"),
            help=_("Comma-separated patterns such as v*. Each matching tag becomes a version."),
            api_help="Patterns such as v* or release/*: tags that match become versions when they appear.",
            type="patterns",
            input_name="version_tags",
        ),
        ConnectorField(
            name="username",
            label=_("User name"),
            help=_("For private repositories, if the host needs one."),
            api_help="",
            is_credential=True,
            max_chars=200,
        ),
        ConnectorField(
            name="password", type="secret", is_credential=True, is_alternative=True, max_chars=4_000
        ),
        ConnectorField(
            name="token",
            label=_("Access token"),
            help=_("For private repositories. Stored encrypted, never shown again."),
            api_help="",
            type="token",
            is_credential=True,
            is_alternative=True,
            max_chars=4_000,
        ),
        ConnectorField(
            name="private_key",
            help="Without a passphrase.",
            type="secret",
            is_credential=True,
            is_alternative=True,
            max_chars=20_000,
        ),
    ),
    asked=("url",),
    config_doc="The configuration of a git source.",
    credentials_doc=(
        "The credentials of a repository: a token, a password, or a private key for ssh. They are write-only."
    ),
)
