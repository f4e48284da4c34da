"""Sources that are repositories and sites, and what they are read with."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0006_source_revision"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="source",
            name="source_kind_known",
        ),
        migrations.AlterField(
            model_name="source",
            name="kind",
            field=models.CharField(
                choices=[("upload", "Upload"), ("folder", "Folder"), ("git", "Git"), ("web", "Web")],
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="source",
            name="sealed_credentials",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["upload", "folder", "git", "web"])),
                name="source_kind_known",
            ),
        ),
    ]
