"""`python -m tests.drills.bench budgets | peers | growth | tenants | filters`: measurements by hand.

The embedded servers and workers run for the measurement unless a stack runs; what is measured goes into
workspaces of its own, which are deleted however the run ends.
"""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

from tests.drills.bench.command import Command  # noqa: E402 - needs the apps

Command().run_from_argv(["python -m", "tests.drills.bench", *sys.argv[1:]])
