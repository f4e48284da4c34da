"""The numbered change log that mirrors follow."""

from django.db import models

from kebab.tenancy.fields import workspace_key
from search.models.tenant import TenantQuerySet


class Change(models.Model):
    """The fact that a document changed; readers fetch its current state. Numbers have no gaps."""

    pk = models.CompositePrimaryKey("workspace_id", "seq")
    workspace = workspace_key()
    seq = models.BigIntegerField()
    doc_id = models.UUIDField()
    op = models.CharField(max_length=6, choices=(("upsert", "upsert"), ("delete", "delete")))
    # Random: a mirror with another token for its number has followed another history.
    token = models.BigIntegerField()
    at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(op__in=("upsert", "delete")), name="change_op_known"),
            models.CheckConstraint(condition=models.Q(seq__gte=1), name="change_seq_from_one"),
        )

    def __str__(self) -> str:
        return f"{self.seq} {self.op} {self.doc_id.hex}"
