"""Settings for mirrors and blobs below a test's folder."""

from pathlib import Path

from django.conf import settings


def stores_in(folder: Path) -> dict[str, object]:
    """Return the settings that keep mirrors and blobs below a folder."""
    files = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": folder / "blobs"},
    }
    return {"KEBAB_MIRROR_DIR": folder / "mirrors", "STORAGES": {**settings.STORAGES, "default": files}}
