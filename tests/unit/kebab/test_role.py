"""A process with a role may open as many files as the system allows."""

import subprocess
import sys

_TAKEN = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from kebab.runtime.role import set_role
set_role("web")
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_process_role_raises_the_limit_of_open_files(subtests):
    for soft, hard in ((256, 1_000), (1_000, 1_000)):
        with subtests.test(soft=soft):
            command = [sys.executable, "-c", _TAKEN.format(soft=soft, hard=hard)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            assert done.stdout.split() == ["1000", "1000"]
