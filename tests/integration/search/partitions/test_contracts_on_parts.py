"""The contract tests of whole tables, run again on partitioned ones."""

import os
import subprocess
import sys

import pytest
from django.conf import settings as django_settings

CONTRACTS = (
    "tests/integration/search/retrievers",
    "tests/integration/search/corpus",
    "tests/security/revocation",
    "tests/integration/search/engine/test_search_filters.py",
    "tests/integration/search/engine/test_vector_search.py",
    "tests/integration/search/mirror/test_mirror_equals_postgres.py",
    "tests/security/tenancy",
)
_LIMIT_S = 900
# Of the session that runs this: the other has servers of its own.
_OURS = ("KEBAB_DATA_DIR", "KEBAB_MIRROR_DIR", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")


@pytest.mark.slow
def test_contracts_hold_on_cut_tables():
    environment = {name: value for name, value in os.environ.items() if name not in _OURS}
    options = ("-q", "--tb=short", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *CONTRACTS],
        env={**environment, "KEBAB_TEST_PARTS": "4"},
        cwd=django_settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6_000:]
