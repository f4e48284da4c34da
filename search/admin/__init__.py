"""Sources, documents and indexes in the Django admin."""

from search.admin import corpus, index  # noqa: F401 - registers
