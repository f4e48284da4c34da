"""Writing of the published JSON Schemas that are made of dataclasses: `python -m tests.wire_schemas`."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

from tests.support.published_schemas import (  # noqa: E402  # the types need Django
    PUBLISHED,
    generate_schema,
    schema_file,
)


def main() -> int:
    """Write the schemas, and report the files that have changed."""
    for name in PUBLISHED:
        file, text = schema_file(name), generate_schema(name)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{file.name} was written.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
