"""Memory of threads: the number of the C library's heaps."""

import subprocess
import sys

_COUNTED = """
import ctypes, sys, tempfile, threading
from kebab.runtime.malloc import limit_kept_memory

if sys.argv[1] == "shared":
    limit_kept_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.fopen.restype = ctypes.c_void_p
libc.malloc_info.argtypes = (ctypes.c_int, ctypes.c_void_p)
libc.fclose.argtypes = (ctypes.c_void_p,)
all_there = threading.Barrier(13)

def take():
    libc.malloc(1_000)
    all_there.wait()
    all_there.wait()

for _ in range(12):
    threading.Thread(target=take, daemon=True).start()
all_there.wait()
with tempfile.NamedTemporaryFile() as told:
    stream = libc.fopen(told.name.encode(), b"w")
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(told.read().count(b"<heap nr="))
all_there.wait()
"""


def _heaps(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", _COUNTED, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_twelve_threads_share_two_heaps():
    assert _heaps("shared") <= 2 < _heaps("apart")
