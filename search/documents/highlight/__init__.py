"""Which words of code are what: told by a process with limits, since the code is somebody else's."""
