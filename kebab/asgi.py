"""The factory of the application that the web server runs in each of its processes."""

import gc
import os
import sys
from typing import Final

import django
from asgiref.typing import ASGI3Application

from kebab.runtime import draining
from kebab.runtime.lifeline import tie_to_spawner
from kebab.runtime.malloc import limit_kept_memory

# A thread that computes lets another go on after this time. With Python's five milliseconds a request that
# waits for Postgres ten times waits fifty milliseconds more beside one that computes.
_SWITCH_S: Final = 0.0005


def create_application() -> ASGI3Application:
    """Set up Django, make this process a web process of its node, and return the application."""
    limit_kept_memory()
    tie_to_spawner()
    draining.begin_on_signal()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
    django.setup(set_prefix=False)
    from kebab import application  # Django is set up first
    from kebab.observability import tracing
    from kebab.observability.metrics.store import begin_process

    begin_process("web")
    tracing.begin()
    created = application.create_application()
    sys.setswitchinterval(_SWITCH_S)
    # What is loaded stays: a full collection of it held a request up for 0.2 s.
    gc.collect()
    gc.freeze()
    return created
