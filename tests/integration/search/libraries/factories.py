"""Factories of sources that are known as libraries."""

from typing import Any

from django.utils import timezone

from search.corpus import ensure_source
from search.models import Source


def add_library(workspace: Any, title: str, **fields: Any) -> Source:
    """Return an indexed source with this title and these fields."""
    key = fields.pop("key", title.lower().replace(" ", "-"))
    source = ensure_source(workspace, key, kind="upload")
    values = {"title": title, "state": "indexed", "last_indexed_at": timezone.now(), **fields}
    Source.objects.in_workspace(workspace).filter(pk=source.pk).update(**values)
    return Source.objects.get(pk=source.pk)
