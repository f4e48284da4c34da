"""The queryset of all tenant tables, which are scoped by workspace.

In the database the primary key of every tenant table is (workspace_id, id) and foreign keys between tenant
tables carry the workspace (migration 0002), so that a row can't reference another workspace and the tables
can be partitioned by workspace. Django knows only the `id` half, which is unique over all workspaces.
"""

import uuid
from typing import Self, TypeVar

from django.db import models

from kebab.identity.models import Workspace

_Row = TypeVar("_Row", bound=models.Model)


class TenantQuerySet(models.QuerySet[_Row]):
    """A queryset of rows of a tenant table."""

    def in_workspace(self, workspace: Workspace | uuid.UUID) -> Self:
        """Return only the rows of `workspace`. Every query on tenant data starts here."""
        return self.filter(workspace_id=workspace if isinstance(workspace, uuid.UUID) else workspace.pk)
