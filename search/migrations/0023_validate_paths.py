"""Validation of the check on paths, without a lock that blocks writers."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("search", "0022_paths_with_hash")]

    operations = [ValidateConstraint(model_name="document", name="document_path_relative")]
