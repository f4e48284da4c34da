"""Paths of documents may contain `#`, which citations escape."""

from collections.abc import Mapping
from typing import ClassVar

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0021_vector_by_writing")]

    safe_because: ClassVar[Mapping[int, str]] = {
        1: "the previous version writes no such path, and dropping a check reads no row"
    }

    operations = [
        AddConstraintNotValid(
            model_name="document",
            constraint=models.CheckConstraint(
                condition=~models.Q(path="") & ~models.Q(path__startswith="/"), name="document_path_relative"
            ),
        ),
        migrations.RemoveConstraint(model_name="document", name="document_path_citable"),
    ]
