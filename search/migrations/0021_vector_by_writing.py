"""What has been written since is found by an index, built beside those who search and write."""

from django.db import migrations, models

from kebab.tenancy.migration_operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("search", "0020_written")]

    operations = [
        AddIndexBeside(
            model_name="chunkvector",
            index=models.Index(fields=["workspace", "space", "written"], name="vector_by_writing"),
        )
    ]
