"""The API's own table."""

from django.db import models


class IdempotencyKey(models.Model):
    """A POST with an idempotency key, and its response. `status` is null while it runs."""

    # The unique constraint's index serves this key too. Null: a POST outside of any workspace.
    workspace = models.ForeignKey(
        "people.Workspace", models.CASCADE, null=True, related_name="+", db_index=False
    )
    # The caller's identity (`user:<id>`, `token:<id>`): each caller has a key space of its own.
    actor = models.CharField(max_length=64)
    key = models.CharField(max_length=200)
    target = models.CharField(max_length=500)
    request_sha256 = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    location = models.TextField(blank=True, default="")
    # Start of the latest attempt; a fence against an earlier one that finishes late.
    claimed_at = models.DateTimeField()
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("workspace", "actor", "key"), nulls_distinct=False, name="idempotency_key_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.actor} {self.target}"
