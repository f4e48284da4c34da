"""The kinds of sources on the connector protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from ingest.connectors.declaration import ConnectorField
from ingest.connectors.records.github import github_api
from ingest.connectors.records.gitlab import gitlab_api
from ingest.connectors.records.issues import check_forge
from ingest.connectors.records.mailbox import check_mailbox
from ingest.connectors.records.mediawiki import check_mediawiki
from ingest.connectors.records.record_kind import RecordKind
from ingest.connectors.records.requests import check_server
from ingest.errors import AddressNotAllowed
from kebab.sandbox.program import Limits
from search.models import SourceKind


def check_program(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a program that the operator offers. Raises AddressNotAllowed."""
    names = sorted(settings.KEBAB_CONNECTORS)
    if config["program"] not in names:
        offered = ", ".join(names) or "none"
        raise AddressNotAllowed(
            f"There is no program {config['program'][:100]!r}; this server has: {offered}."
        )
    parse_options(config.get("options", ()))
    return dict(config)


def parse_options(options: Sequence[str]) -> dict[str, str]:
    """Return the options of a program, given as `name=value`. Raises AddressNotAllowed."""
    pairs = [option.partition("=") for option in options]
    for name, mark, _value in pairs:
        if not (name and mark):
            raise AddressNotAllowed("Give options as name=value.")
    return {name.strip(): value.strip() for name, _mark, value in pairs}


def resolve_program(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command and the options, unless the operator has withdrawn it. Raises AddressNotAllowed."""
    checked = check_program(config)
    return {
        "command": list(settings.KEBAB_CONNECTORS[checked["program"]]),
        "options": parse_options(checked.get("options", ())),
    }


PROGRAM_READER: Final = "ingest.connectors.records.program.reader:ProgramReader"
PROGRAM_LIMITS: Final = Limits(extra_data_bytes=2 * 1024**3, request_cpu_seconds=3_600)
_USERNAME: Final = ConnectorField(name="username", label=_("User name"), is_credential=True)
_PASSWORD: Final = ConnectorField(
    name="password",
    label=_("Password"),
    help=_("Prefer a password for this app alone. Stored encrypted, never shown again."),
    type="secret",
    is_credential=True,
)
_S3: Final = RecordKind(
    kind=SourceKind.S3,
    label=_("S3 bucket"),
    heading=_("Add an S3 bucket"),
    summary=_("The objects of a bucket at AWS, MinIO, Ceph and others."),
    icon="cylinder",
    fields=(
        ConnectorField(
            name="url",
            label=_("Endpoint"),
            help=_("For example https://s3.eu-central-1.amazonaws.com or https://minio.example.org"),
            is_required=True,
        ),
        ConnectorField(name="bucket", label=_("Bucket"), is_required=True),
        ConnectorField(name="prefix", label=_("Prefix"), help=_("Only objects below it, such as handbook/")),
        ConnectorField(name="region", label=_("Region"), help=_("us-east-1 if empty.")),
        ConnectorField(name="access_key_id", label=_("Access key ID"), is_credential=True),
        ConnectorField(
            name="secret_access_key", label=_("Secret access key"), type="secret", is_credential=True
        ),
    ),
    reader="ingest.connectors.records.s3:BucketReader",
    check=check_server,
)

_WEBDAV: Final = RecordKind(
    kind=SourceKind.WEBDAV,
    label=_("Nextcloud or WebDAV"),
    heading=_("Add a Nextcloud or WebDAV folder"),
    summary=_("The files of a folder, including subfolders."),
    icon="cloud",
    fields=(
        ConnectorField(
            name="url",
            label=_("URL"),
            help=_("For example https://cloud.example.org/remote.php/dav/files/ada/Handbook"),
            is_required=True,
        ),
        _USERNAME,
        _PASSWORD,
    ),
    reader="ingest.connectors.records.webdav:WebdavReader",
    check=check_server,
)

_FEED: Final = RecordKind(
    kind=SourceKind.FEED,
    label=_("RSS or Atom feed"),
    heading=_("Add a feed"),
    summary=_("The entries of a feed, with author and date. Entries stay when the feed drops them."),
    icon="rss",
    fields=(
        ConnectorField(
            name="url", label=_("URL"), help=_("For example https://example.org/feed.xml"), is_required=True
        ),
        _USERNAME,
        _PASSWORD,
    ),
    reader="ingest.connectors.records.feed:FeedReader",
    check=partial(check_server, keeps_query=True),
)
_IMAP: Final = RecordKind(
    kind=SourceKind.IMAP,
    label=_("Mailbox"),
    heading=_("Add a mailbox"),
    summary=_("The mails of a shared mailbox, by folder."),
    icon="mail",
    fields=(
        ConnectorField(
            name="url", label=_("Server"), help=_("For example imaps://mail.example.org"), is_required=True
        ),
        replace(_USERNAME, is_required=True),
        replace(_PASSWORD, is_required=True),
        ConnectorField(
            name="folders",
            label=_("Folders"),
            help=_("Comma-separated. If empty, all but drafts, junk and trash."),
            type="list",
        ),
    ),
    reader="ingest.connectors.records.mailbox:MailboxReader",
    check=check_mailbox,
)

_PROGRAM: Final = RecordKind(
    kind=SourceKind.PROGRAM,
    label=_("Connector program"),
    heading=_("Add a source of a connector program"),
    summary=_("What a program of this server reads from another system."),
    icon="plug",
    fields=(
        ConnectorField(name="program", label=_("Program"), is_required=True),
        ConnectorField(
            name="options", label=_("Options"), help=_("Comma-separated, as name=value."), type="list"
        ),
        ConnectorField(name="token", label=_("Access token"), type="secret", is_credential=True),
    ),
    check=check_program,
    reader=PROGRAM_READER,
    limits=PROGRAM_LIMITS,
    resolve=resolve_program,
    needed_setting="KEBAB_CONNECTORS",
)

_MEDIAWIKI: Final = RecordKind(
    kind=SourceKind.MEDIAWIKI,
    label=_("MediaWiki"),
    heading=_("Add a MediaWiki"),
    summary=_("The pages of a wiki, as readers see them, with author and date."),
    icon="book-open-text",
    fields=(
        ConnectorField(
            name="url",
            label=_("API address"),
            help=_("For example https://wiki.example.org/w/api.php, as the page Special:Version shows it."),
            is_required=True,
        ),
        ConnectorField(
            name="namespaces",
            label=_("Namespaces"),
            help=_("Comma-separated numbers. If empty, 0: articles."),
            type="list",
        ),
        replace(_USERNAME, help=_("For a wiki that is not public, of a bot password such as Ada@kebab.")),
        replace(_PASSWORD, help=_("From the wiki’s page Special:BotPasswords. Stored encrypted.")),
    ),
    reader="ingest.connectors.records.mediawiki:MediawikiReader",
    check=check_mediawiki,
)

_API_URL: Final = ConnectorField(name="api_url", label=_("API address"))
_TOKEN: Final = ConnectorField(name="token", label=_("Access token"), type="secret", is_credential=True)

_GITHUB: Final = RecordKind(
    kind=SourceKind.GITHUB,
    label=_("GitHub issues"),
    heading=_("Add the issues of a GitHub repository"),
    summary=_("Issues with their comments, and pull requests if you like. Also of GitHub Enterprise."),
    icon="circle-dot",
    fields=(
        ConnectorField(
            name="url",
            label=_("Repository"),
            help=_(
                "For example https://github.com/owner/project. Add its wiki as a git repository:"
                " https://github.com/owner/project.wiki.git"
            ),
            is_required=True,
        ),
        replace(
            _TOKEN, help=_("Needs read access to issues. Without one, GitHub allows 60 requests an hour.")
        ),
        ConnectorField(name="pull_requests", label=_("Include pull requests"), type="flag"),
        replace(_API_URL, help=_("Derived from the repository’s address if empty.")),
    ),
    reader="ingest.connectors.records.github:GithubReader",
    check=partial(check_forge, derive_api=github_api),
)

_GITLAB: Final = RecordKind(
    kind=SourceKind.GITLAB,
    label=_("GitLab project"),
    heading=_("Add the issues and the wiki of a GitLab project"),
    summary=_("Issues with their comments, and the pages of the wiki. Also of your own server."),
    icon="square-kanban",
    fields=(
        ConnectorField(
            name="url",
            label=_("Project"),
            help=_("For example https://gitlab.com/group/project"),
            is_required=True,
        ),
        replace(_TOKEN, help=_("Needs the scope read_api. Stored encrypted, never shown again.")),
        replace(
            _API_URL,
            help=_(
                "Derived from the project’s address if empty. For example https://example.org/gitlab/api/v4"
            ),
        ),
    ),
    reader="ingest.connectors.records.gitlab:GitlabReader",
    check=partial(check_forge, derive_api=gitlab_api),
)

RECORD_KINDS: Final[Mapping[str, RecordKind]] = {
    kind.kind: kind for kind in (_WEBDAV, _S3, _IMAP, _FEED, _MEDIAWIKI, _GITHUB, _GITLAB, _PROGRAM)
}
