"""The list of quarantined files has the refused ones, too, and its indexes cover both."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0013_times_by_postgres")]

    operations = [
        migrations.AlterModelOptions(name="unreadable", options={"verbose_name": "unreadable file"}),
        migrations.AddIndex(
            model_name="unreadable", index=models.Index(fields=["-at"], name="unreadable_newest")
        ),
        migrations.AddIndex(
            model_name="unreadable",
            index=models.Index(fields=["workspace", "-at"], name="unreadable_by_time"),
        ),
        migrations.RemoveIndex(model_name="unreadable", name="quarantine_newest"),
        migrations.RemoveIndex(model_name="unreadable", name="quarantine_by_time"),
    ]
