"""Tables of running processes and of the blob store's mark."""

import uuid
from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models


class ProcessRole(models.TextChoices):
    """The role of a process."""

    WEB = "web"
    WORKER = "worker"
    MIRROR = "mirror"
    WATCH = "watch"
    BEAT = "beat"


class StackProcess(models.Model):
    """One process of a node; its row is updated every ten seconds and deleted when the process ends.

    It belongs to no workspace.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    node = models.CharField(max_length=255)
    role = models.CharField(max_length=16, choices=ProcessRole)
    name = models.CharField(max_length=64)
    pid = models.PositiveIntegerField()
    slots = models.PositiveIntegerField(default=1)
    busy = models.PositiveIntegerField(default=0)
    queues = ArrayField(models.CharField(max_length=64), default=list)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    last_started_at = models.DateTimeField(null=True)
    info = models.JSONField(default=dict)

    #: The time since `heartbeat_at`, by `kebab.stack.nodes.registry`.
    age: timedelta

    class Meta:
        indexes = [models.Index(fields=["node", "role"], name="stack_process_node_role")]

    def __str__(self) -> str:
        return f"{self.name} on {self.node} (pid {self.pid})"


class BlobStore(models.Model):
    """The one blob store that belongs to this database; see kebab/stack/storage/blob_mark.py."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    mark = models.CharField(max_length=64)

    def __str__(self) -> str:
        return self.mark
