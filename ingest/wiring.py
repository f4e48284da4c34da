"""What ingest adds to kebab's registries."""

from functools import partial

from django.db import transaction

from ingest.connectors.git.credentials import seal_again
from ingest.connectors.git.place import remove_repositories
from ingest.errors import IngestError
from kebab.api.errors import register_error_tree
from kebab.people import deletion
from kebab.people.models import Workspace
from kebab.stack import preparation


def register() -> None:
    """Register all of it; called once, when the apps are ready."""
    register_error_tree(IngestError)
    deletion.register(_remove_what_is_not_a_row)
    preparation.register("credentials of sources", seal_again)


def _remove_what_is_not_a_row(workspace: Workspace) -> None:
    transaction.on_commit(partial(remove_repositories, workspace.pk))
