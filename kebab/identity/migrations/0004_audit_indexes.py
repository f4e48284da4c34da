"""The audit log by time and by actor, over all workspaces: the order and the search of the admin's list."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("people", "0003_row_level_security")]

    operations = [
        migrations.AddIndex(
            model_name="auditevent", index=models.Index(fields=["actor", "-at"], name="audit_by_actor")
        ),
        migrations.AddIndex(model_name="auditevent", index=models.Index(fields=["-at"], name="audit_newest")),
    ]
