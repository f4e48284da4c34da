"""What a process imports before it does anything."""

import subprocess
import sys

_ADMIN = "{'ingest.admin', 'search.admin', 'kebab.people.admin'}"


def _imported(then="pass"):
    program = f"import django, sys; django.setup(); {then}; print(sorted({_ADMIN} & set(sys.modules)))"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return made.stdout.strip()


def test_the_admin_is_imported_by_what_shows_it_alone():
    assert _imported() == "[]"
    assert _imported("import kebab.urls") == "['ingest.admin', 'kebab.people.admin', 'search.admin']"
