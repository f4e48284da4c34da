"""Library ids, also for the sources that there are; project files; titles of versions."""

from collections import defaultdict
from typing import Any

from django.db import migrations, models

from search.libraries.ids import first_free, git_library_id, library_id_of
from search.libraries.trust import TrustFactors, trust_score


def give_library_ids(apps: Any, schema_editor: Any) -> None:
    """Give each source its id, the oldest first, as if they were made now."""
    taken: defaultdict[Any, set[str]] = defaultdict(set)
    sources = apps.get_model("search", "Source").objects.using(schema_editor.connection.alias)
    for source in sources.order_by("created_at", "id").iterator():
        ids = taken[source.workspace_id]
        url = str(source.config.get("url") or "")
        library_id = first_free(library_id_of(url=url, title=source.title, key=source.key), ids)
        ids.add(library_id)
        sources.filter(workspace_id=source.workspace_id, pk=source.pk).update(library_id=library_id)


def note_standing(apps: Any, schema_editor: Any) -> None:
    """Count each source's snippets, give its trust score, and say of uploads when they were indexed."""
    alias = schema_editor.connection.alias
    sources, documents, chunks = (
        apps.get_model("search", name).objects.using(alias) for name in ("Source", "Document", "Chunk")
    )
    for source in sources.iterator():
        place = {"workspace_id": source.workspace_id, "source_id": source.pk}
        latest = documents.filter(**place).aggregate(latest=models.Max("indexed_at"))["latest"]
        versions = source.versions.filter(workspace_id=source.workspace_id, tag="")
        default = documents.filter(**place, version__in=versions.values("id"))
        standing = TrustFactors(
            stars=source.stars,
            total_snippets=chunks.filter(
                workspace_id=source.workspace_id, document__in=default.values("id")
            ).count(),
            is_on_git_host=git_library_id(str(source.config.get("url") or "")) is not None,
            is_indexed=bool(source.last_indexed_at or latest),
            is_described=bool(source.description.strip()),
        )
        is_new = source.kind == "upload" and source.last_indexed_at is None and latest is not None
        sources.filter(workspace_id=source.workspace_id, pk=source.pk).update(
            total_snippets=standing.total_snippets,
            trust_score=trust_score(standing),
            last_indexed_at=latest if is_new else source.last_indexed_at,
            state="indexed" if is_new else source.state,
        )


class Migration(migrations.Migration):
    dependencies = [("search", "0002_tenancy")]

    operations = [
        migrations.AddField(
            model_name="source",
            name="library_id",
            field=models.CharField(default="", editable=False, max_length=300),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="source",
            name="project",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="sourceversion",
            name="title",
            field=models.CharField(blank=True, default="", max_length=300),
        ),
        migrations.RunPython(give_library_ids, migrations.RunPython.noop),
        migrations.RunPython(note_standing, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.UniqueConstraint(
                fields=("workspace", "library_id"), name="source_library_id_once"
            ),
        ),
    ]
