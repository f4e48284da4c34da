"""Failpoints at which a drill kills the process, and safeguards that it switches off to prove their worth.

`KEBAB_FAILPOINT=after_parse` makes a process kill itself at `reach("after_parse")`;
`KEBAB_WITHOUT=sweep,fence,readback,generations` switches safeguards off. Neither is ever set outside a drill
or a test.
"""

import os
import signal

from django.conf import settings


def reach(name: str) -> None:
    """Kill the process with SIGKILL if `name` is the configured failpoint."""
    if name == settings.KEBAB_FAILPOINT:
        os.kill(os.getpid(), signal.SIGKILL)


def is_on(safeguard: str) -> bool:
    """Return whether `safeguard` is on: always, except in a drill that shows why it is needed."""
    return safeguard not in settings.KEBAB_WITHOUT
