"""The extension of an app: what it adds to the shared parts of Kebab; `kebab.contributions` collects them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kebab.contributions import Row

if TYPE_CHECKING:
    from kebab.backup.blobs import BlobNames
    from kebab.health.checks import DoctorCheck
    from kebab.observability.metrics.collectors import Collector
    from kebab.pages.page import Tab
    from kebab.people.access_report import Explainer
    from kebab.people.groups import CountSources
    from kebab.people.workspace_settings.hooks import Follower, Guard
    from kebab.people.workspace_settings.registry import Preference
    from kebab.people.workspaces import DeletionHook


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # hashed by identity
class Extension:
    """The contributions of one app, each in the order in which it is used."""

    #: Roots of error trees, whose classes have the attributes `status: int` and `code: str`.
    error_trees: Sequence[type[Exception]] = ()
    #: Settings of a workspace, in the order of the settings page.
    preferences: "Sequence[Preference]" = ()
    #: Called before a workspace's settings change; each may refuse the change.
    settings_guards: "Sequence[Guard]" = ()
    #: Called in the transaction in which a workspace's settings change.
    settings_followers: "Sequence[Follower]" = ()
    #: Tabs of a workspace's pages.
    tabs: "Sequence[Tab]" = ()
    #: Checks of `kebab doctor`.
    checks: "Sequence[DoctorCheck]" = ()
    #: Idempotent steps of `kebab init` and of each start, after the migrations, by name.
    init_steps: Sequence[tuple[str, Callable[[], None]]] = ()
    #: Steps like these that need no database, and run beside the migrations.
    early_init_steps: Sequence[tuple[str, Callable[[], None]]] = ()
    #: Return a sentence that `kebab up` says once it serves; '' for none.
    start_remarks: Sequence[Callable[[], str]] = ()
    #: Sections of `kebab status`, by name, such as the lag of the mirrors.
    status_sections: Sequence[tuple[str, Callable[[], Sequence[Row]]]] = ()
    #: Collectors of metrics, by name.
    collectors: "Sequence[tuple[str, Collector]]" = ()
    #: Called in the transaction that deletes a workspace, before its row goes; those of later apps first.
    deletion_hooks: "Sequence[DeletionHook]" = ()
    #: Called at the end of each command and web process, before the servers stop; none may raise.
    shutdown_callbacks: Sequence[Callable[[], None]] = ()
    #: Return the names of the blobs that a backup needs.
    blob_names: "Sequence[BlobNames]" = ()
    #: List items with their visibility to a caller, for the access report.
    access_explainers: "Sequence[Explainer]" = ()
    #: Count the sources that are restricted to groups.
    source_counters: "Sequence[CountSources]" = ()
    #: Return the rendition of a document's bytes at a path, for its page; None if there is none.
    document_drawers: Sequence[Callable[[bytes, str], Any]] = ()
    #: Return the filters of a search in their canonical form; raise an error of a tree for wrong ones.
    filter_readers: Sequence[Callable[[Any], dict[str, Any]]] = ()

    def __post_init__(self) -> None:
        for base in self.error_trees:
            if not isinstance(getattr(base, "status", None), int) or not isinstance(
                getattr(base, "code", None), str
            ):
                raise TypeError(f"{base.__name__} needs the class attributes status: int and code: str.")
