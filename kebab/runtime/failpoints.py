"""Points at which a drill kills the process, and safeguards that it switches off to prove their worth.

`KEBAB_FAILPOINT=after_parse` makes a process kill itself where it says `reached("after_parse")`;
`KEBAB_WITHOUT=sweep,fence,readback,generations` switches safeguards off. Neither is ever set outside a drill
or a test.
"""

import os
import signal

from django.conf import settings


def reached(name: str) -> None:
    """Die here, as if by kill -9, when the drill asks for it."""
    if name == settings.KEBAB_FAILPOINT:
        os.kill(os.getpid(), signal.SIGKILL)


def is_on(safeguard: str) -> bool:
    """Return whether `safeguard` does its work: always, except in a drill that shows why it is there."""
    return safeguard not in settings.KEBAB_WITHOUT
