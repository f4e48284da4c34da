"""The connector of versions of git repositories."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.address import GitAddress, Transport, check_address, parse_address, repository_url
from ingest.connectors.git.command import Git
from ingest.connectors.git.credentials import Credentials, decrypt_credentials
from ingest.connectors.git.environment import git_environment, local_environment, write_config
from ingest.connectors.git.local_copy import CopyPaths, delete_orphans, lock_copy
from ingest.connectors.git.repository import ALL_NAMES, NamedCommits, Repository, RequestedRef
from ingest.connectors.git.tree import BlobReader, GitTree
from ingest.connectors.project_file import MAX_FILE_BYTES, PROJECT_FILES, ProjectFile, parse_project_file
from ingest.connectors.tree import walk_tree
from ingest.connectors.types import Entry, ItemContent, OpenOptions
from ingest.connectors.walk_rules import GIT_IGNORE, WalkRules
from ingest.errors import AddressNotAllowed
from kebab.encryption import EncryptionError
from kebab.http_client.connections import RequestFailed, resolve_permitted
from search.models import Source, SourceVersion

# Resolvers give up after 10 to 30 seconds.
_LOOK_UP_LIMIT_S = 30.0


class GitSource:
    """A connector that lists and reads the files of one commit."""

    def __init__(self, commit: str, tree: GitTree, blobs: BlobReader, named_commits: NamedCommits) -> None:
        #: commits of the host's tags and branches; empty unless the default version was fetched just now
        self.named_commits = named_commits
        self._commit = commit
        self._tree = tree
        self._blobs = blobs

    @property
    def revision(self) -> str:
        """Return the commit."""
        return self._commit

    def project_file(self) -> ProjectFile | None:
        """Return the commit's project file, None without one. Raises ListingFailed."""
        for name in PROJECT_FILES:
            file = self._tree.find_file(name)
            if file is not None:
                return parse_project_file(name, self._blobs.read(file.object_name, MAX_FILE_BYTES + 1))
        return None

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Yield the files of the commit by name, also those that a .gitignore names: somebody added them.

        Raises ListingFailed.
        """
        own = tuple(name for name in rules.ignore_files if name != GIT_IGNORE)
        return walk_tree(self._tree, replace(rules, ignore_files=own))

    def read(self, path: str) -> ItemContent:
        """Return a file's bytes and its blob's name. Raises FileNotFoundError."""
        file = self._tree.find_file(path)
        if file is None:
            raise FileNotFoundError(path)
        content = self._blobs.read(file.object_name, file.size_bytes)
        return ItemContent(content=content, revision=file.object_name)


@contextmanager
def open_repository(options: OpenOptions) -> Iterator[GitSource]:
    """Open a version of the source's repository: at `revision` for a resumed job, else at its present commit.

    Raises ListingFailed, RepositoryBusy, and the errors by which `while_waiting` ends a wait.
    """
    source, version = options.source, options.version
    remote = _resolve_remote(source)
    paths = CopyPaths.of(source.workspace_id, source.pk)
    with lock_copy(paths, options.while_waiting) as lock:
        delete_orphans(source.workspace_id)
        write_config(paths, remote.address)
        git = Git(
            git_dir=paths.git_dir,
            environment=local_environment(paths),
            while_waiting=options.while_waiting,
            inherited_fds=(lock,),
        )
        copy = Repository(paths=paths, url=remote.address.url, git=git)
        commit, named_commits = _update_copy(
            copy, remote, version.tag, _requested_ref(source, version), options.revision
        )
        with BlobReader(git) as blobs:
            yield GitSource(commit, GitTree(git, commit, blobs), blobs, named_commits)


def list_references(source: Source, while_waiting: Callable[[], None]) -> NamedCommits:
    """Return the branches and tags of the source's repository, which need not be stored, and copy nothing.

    Raises ListingFailed, also when the branch to read is missing, and the errors of `while_waiting`.
    """
    remote = _resolve_remote(source)
    requested = RequestedRef(name=source.config.get("branch", ""), is_branch_first=True)
    with TemporaryDirectory(prefix="kebab-git-") as folder:
        paths = CopyPaths(Path(folder))
        write_config(paths, remote.address)
        addresses = _resolve_host(remote.address, while_waiting)
        with git_environment(paths, remote.address, addresses, remote.credentials) as environment:
            git = Git(
                git_dir=paths.git_dir,
                environment=environment,
                while_waiting=while_waiting,
                secrets=_secrets(remote),
            )
            copy = Repository(paths=paths, url=remote.address.url, git=git)
            advertised = copy.list_remote_refs(*requested.candidates, *ALL_NAMES)
    requested.choose(advertised)
    return NamedCommits.from_advertised(advertised)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remote:
    """The address and the credentials of a source's repository."""

    address: GitAddress
    credentials: Credentials | None


def _resolve_remote(source: Source) -> _Remote:
    try:
        address = parse_address(source.config["url"])
        check_address(address)
        credentials = decrypt_credentials(source.sealed_credentials)
    except (AddressNotAllowed, EncryptionError) as error:
        raise ListingFailed(str(error)) from error
    if address.folder is not None:
        address = replace(address, url=repository_url(address.folder))
    return _Remote(address=address, credentials=credentials)


def _requested_ref(source: Source, version: SourceVersion) -> RequestedRef:
    if version.tag:
        return RequestedRef(name=version.tag)
    return RequestedRef(name=source.config.get("branch", ""), is_branch_first=True)


def _update_copy(
    copy: Repository, remote: _Remote, tag: str, requested: RequestedRef, revision: str
) -> tuple[str, NamedCommits]:
    """Fetch the commit unless the copy has that of a resumed job; return it and the host's named commits."""
    if revision and copy.holds(tag, revision):
        return revision, NamedCommits()
    addresses = _resolve_host(remote.address, copy.git.while_waiting)
    with git_environment(copy.paths, remote.address, addresses, remote.credentials) as environment:
        online = replace(copy, git=replace(copy.git, environment=environment, secrets=_secrets(remote)))
        if revision:
            return online.refetch_commit(tag, revision), NamedCommits()
        advertised = online.list_remote_refs(*requested.candidates, *(() if tag else ALL_NAMES))
        return online.fetch_commit(tag, requested, advertised), NamedCommits.from_advertised(advertised)


def _resolve_host(address: GitAddress, while_waiting: Callable[[], None]) -> list[str]:
    if address.transport is Transport.FILE:
        return []
    try:
        return resolve_permitted(
            address.host,
            address.port,
            settings.KEBAB_PRIVATE_HOSTS,
            limit_s=_LOOK_UP_LIMIT_S,
            on_wait=while_waiting,
        )
    except RequestFailed as error:
        raise ListingFailed(f"The repository's host {error}.") from error


def _secrets(remote: _Remote) -> tuple[str, ...]:
    if remote.credentials is None:
        return ()
    authorization = remote.credentials.authorization
    return (remote.credentials.password, authorization, authorization.partition(" ")[2])
