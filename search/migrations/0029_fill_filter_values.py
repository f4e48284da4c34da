"""Formerly the values of the metadata of present documents, which `0036` fills."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("search", "0028_filter_values")]
