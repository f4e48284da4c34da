"""Library ids, also for the sources that there are; project files; titles of versions."""

from collections import defaultdict

from django.db import migrations, models

from search.libraries.ids import first_free, library_id_of


def give_library_ids(apps, schema_editor):
    """Give each source its id, the oldest first, as if they were made now."""
    taken = defaultdict(set)
    sources = apps.get_model("search", "Source").objects
    for source in sources.order_by("created_at", "id").iterator():
        ids = taken[source.workspace_id]
        url = str(source.config.get("url") or "")
        library_id = first_free(library_id_of(url=url, title=source.title, key=source.key), ids)
        ids.add(library_id)
        sources.filter(workspace_id=source.workspace_id, pk=source.pk).update(library_id=library_id)


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
        migrations.AddConstraint(
            model_name="source",
            constraint=models.UniqueConstraint(
                fields=("workspace", "library_id"), name="source_library_id_once"
            ),
        ),
    ]
