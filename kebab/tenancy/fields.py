"""References of tenant models, whose constraints and indexes carry the workspace: migrations make them."""

from django.db import models


def workspace_key(**options: object) -> models.ForeignKey:  # type: ignore[type-arg]
    """Return the workspace column of a tenant model; constraint and index are the migration's."""
    return tenant_key("people.Workspace", "+", **options)


def tenant_key(model: str, related_name: str, **options: object) -> models.ForeignKey:  # type: ignore[type-arg]
    """Return a reference to another tenant row of the same workspace; the migration makes it composite.

    What refers to a row that is deleted goes with it in the database; Django needn't look for it.
    """
    return models.ForeignKey(
        model,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name=related_name,
        **options,
    )
