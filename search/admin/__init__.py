"""Django admin of sources, documents and indexes."""

from search.admin import corpus, index  # noqa: F401 - registers
