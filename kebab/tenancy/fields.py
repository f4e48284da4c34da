"""Foreign keys of tenant models; migrations create their constraints and indexes with the workspace."""

from typing import Any

from django.db import models


def workspace_key(**options: Any) -> "models.ForeignKey[Any, Any]":
    """Return the workspace column of a tenant model; migrations create constraint and index."""
    return tenant_key("people.Workspace", "+", **options)


def tenant_key(model: str, related_name: str, **options: Any) -> "models.ForeignKey[Any, Any]":
    """Return a reference to another tenant row of the same workspace; the migration makes it composite.

    The database deletes referring rows along with the referenced one; Django doesn't look for them.
    """
    return models.ForeignKey(
        model,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name=related_name,
        **options,
    )
