"""A version of a git repository as a source."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from django.conf import settings

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.address import (
    GitAddress,
    Transport,
    check_address,
    read_address,
    repository_url,
)
from ingest.connectors.git.blobs import BlobReader
from ingest.connectors.git.command import Git
from ingest.connectors.git.credentials import Credentials, unseal_credentials
from ingest.connectors.git.environment import git_environment, local_environment, write_config
from ingest.connectors.git.local_copy import Place, locked, remove_orphans
from ingest.connectors.git.references import ALL_NAMES, NamedCommits, Wanted
from ingest.connectors.git.repository import Repository
from ingest.connectors.git.tree import GitTree
from ingest.connectors.project_file import MAX_FILE_BYTES, PROJECT_FILES, ProjectFile, parse_project_file
from ingest.connectors.tree import walk_tree
from ingest.connectors.types import Entry, ItemContent
from ingest.connectors.walk_rules import WalkRules
from ingest.errors import AddressNotAllowed
from kebab.encryption import SealingFailed
from kebab.http_client.addresses import permitted_addresses
from kebab.http_client.errors import RequestFailed
from search.models import Source, SourceVersion


class GitSource:
    """Lists and reads the files of one commit."""

    def __init__(self, commit: str, tree: GitTree, blobs: BlobReader, named: NamedCommits) -> None:
        #: what the host's tags and branches stood for when the default version was opened anew
        self.named = named
        self._commit = commit
        self._tree = tree
        self._blobs = blobs

    @property
    def revision(self) -> str:
        """Return the commit."""
        return self._commit

    def project_file(self) -> ProjectFile | None:
        """Return what the commit's project file says. Raises ListingFailed."""
        for name in PROJECT_FILES:
            file = self._tree.file_at(name)
            if file is not None:
                return parse_project_file(name, self._blobs.read(file.object_name, MAX_FILE_BYTES + 1))
        return None

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Return the files of the commit by name. Raises ListingFailed."""
        return walk_tree(self._tree, rules)

    def read(self, path: str) -> ItemContent:
        """Return a file's bytes and its blob's name. Raises FileNotFoundError."""
        file = self._tree.file_at(path)
        if file is None:
            raise FileNotFoundError(path)
        content = self._blobs.read(file.object_name, file.size_bytes)
        return ItemContent(content=content, revision=file.object_name)


@contextmanager
def open_repository(
    source: Source, version: SourceVersion, *, revision: str, while_waiting: Callable[[], None]
) -> Iterator[GitSource]:
    """Open a version of the source's repository: at `revision` where the job began at one, else as it is now.

    Raises ListingFailed, RepositoryBusy, and what `while_waiting` raises to end a wait.
    """
    remote = _remote(source)
    place = Place.of(source.workspace_id, source.pk)
    with locked(place, while_waiting) as lock:
        remove_orphans(source.workspace_id)
        write_config(place, remote.address)
        git = Git(
            git_dir=place.git_dir,
            environment=local_environment(place),
            while_waiting=while_waiting,
            kept_open=(lock,),
        )
        copy = Repository(place=place, url=remote.address.url, git=git)
        commit, named = _bring_up_to_date(copy, remote, version.tag, _wanted(source, version), revision)
        with BlobReader(git) as blobs:
            yield GitSource(commit, GitTree(git, commit, blobs), blobs, named)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remote:
    """The repository that a source reads, and what it is read with."""

    address: GitAddress
    credentials: Credentials | None


def _remote(source: Source) -> _Remote:
    try:
        address = read_address(source.config["url"])
        check_address(address)
        credentials = unseal_credentials(source.sealed_credentials)
    except (AddressNotAllowed, SealingFailed) as error:
        raise ListingFailed(str(error)) from error
    if address.folder is not None:
        address = replace(address, url=repository_url(address.folder))
    return _Remote(address=address, credentials=credentials)


def _wanted(source: Source, version: SourceVersion) -> Wanted:
    if version.tag:
        return Wanted(name=version.tag)
    return Wanted(name=source.config.get("branch", ""), is_branch_first=True)


def _bring_up_to_date(
    copy: Repository, remote: _Remote, tag: str, wanted: Wanted, revision: str
) -> tuple[str, NamedCommits]:
    """Have the commit in the copy, and give it. A job that goes on needs nobody else for what is there."""
    if revision and copy.holds(tag, revision):
        return revision, NamedCommits()
    addresses = _addresses(remote.address)
    with git_environment(copy.place, remote.address, addresses, remote.credentials) as environment:
        online = replace(copy, git=replace(copy.git, environment=environment, secrets=_secrets(remote)))
        if revision:
            return online.same_commit(tag, revision), NamedCommits()
        advertised = online.advertised(*wanted.candidates, *(() if tag else ALL_NAMES))
        return online.commit_of(tag, wanted, advertised), NamedCommits.read(advertised)


def _addresses(address: GitAddress) -> list[str]:
    if address.transport is Transport.FILE:
        return []
    try:
        return permitted_addresses(address.host, address.port, settings.KEBAB_PRIVATE_HOSTS)
    except RequestFailed as error:
        raise ListingFailed(f"The repository's host {error}.") from error


def _secrets(remote: _Remote) -> tuple[str, ...]:
    if remote.credentials is None:
        return ()
    authorization = remote.credentials.authorization
    return (remote.credentials.password, authorization, authorization.partition(" ")[2])
