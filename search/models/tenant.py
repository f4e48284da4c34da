"""The queryset of all tenant tables, which are scoped by workspace.

In the database the primary key of every tenant table is (workspace_id, id) and foreign keys between tenant
tables carry the workspace (migration 0002), so that a row can't reference another workspace and the tables
can be partitioned by workspace. Django knows only the `id` half, which is unique over all workspaces.
"""

import uuid
from typing import Self

from django.db import models

from kebab.people.models import Workspace


class TenantQuerySet(models.QuerySet):  # type: ignore[type-arg]  # one queryset class serves all models
    """A queryset of rows of a tenant table."""

    def in_workspace(self, workspace: Workspace | uuid.UUID) -> Self:
        """Return only the rows of `workspace`. Every query on tenant data starts here."""
        return self.filter(workspace_id=workspace if isinstance(workspace, uuid.UUID) else workspace.pk)
