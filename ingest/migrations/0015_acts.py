"""Jobs know the act that they belong to, and whether somebody has to look at them."""

from django.db import migrations, models

from kebab.tenancy.migration_operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ingest", "0014_unreadable_files")]

    operations = [
        migrations.AddField(model_name="job", name="batch", field=models.UUIDField(blank=True, null=True)),
        migrations.AddField(
            model_name="job", name="refused_items", field=models.IntegerField(db_default=0, default=0)
        ),
        migrations.AddField(
            model_name="job",
            name="needs_attention",
            field=models.BooleanField(db_default=False, default=False),
        ),
        AddIndexBeside(
            model_name="job",
            index=models.Index(
                condition=models.Q(("batch__isnull", True)),
                fields=["workspace", "-created_at", "id"],
                name="job_acts",
            ),
        ),
        AddIndexBeside(
            model_name="job",
            index=models.Index(
                condition=models.Q(("batch__isnull", False)),
                fields=["workspace", "batch"],
                name="job_by_batch",
            ),
        ),
        AddIndexBeside(
            model_name="job",
            index=models.Index(
                condition=models.Q(("needs_attention", True)), fields=["workspace"], name="job_attention"
            ),
        ),
    ]
