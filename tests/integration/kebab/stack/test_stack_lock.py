import subprocess
import sys

from kebab.stack.paths import DataDirectory
from kebab.stack.storage.stack_lock import HolderKind, StackLock


def test_lock_of_a_killed_holder_is_free(data_dir):
    DataDirectory(data_dir).ensure()
    path = DataDirectory(data_dir).stack_lock
    program = (
        "import sys, pathlib; from kebab.stack.storage.stack_lock import *;"
        "lock = StackLock(pathlib.Path(sys.argv[1]));"
        "print(lock.acquire(HolderKind.UP), flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "True\n"
        lock = StackLock(path)
        assert not lock.acquire(HolderKind.UP)
        assert lock.holder().pid == holder.pid
        holder.kill()
        holder.wait()
    assert lock.acquire(HolderKind.UP)
    lock.release()
