"""Jobs and quarantined files, newest first, over all workspaces: the order of the admin's lists."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0007_row_level_security")]

    operations = [
        migrations.AlterModelOptions(
            name="unreadable",
            options={"verbose_name": "quarantined file", "verbose_name_plural": "quarantine"},
        ),
        migrations.AddIndex(model_name="job", index=models.Index(fields=["-created_at"], name="job_newest")),
        migrations.AddIndex(
            model_name="unreadable",
            index=models.Index(
                condition=models.Q(("is_quarantined", True)), fields=["-at"], name="quarantine_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="unreadable",
            index=models.Index(
                condition=models.Q(("is_quarantined", True)),
                fields=["workspace", "-at"],
                name="quarantine_by_time",
            ),
        ),
    ]
