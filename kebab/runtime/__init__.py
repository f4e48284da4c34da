"""The process itself: role, threads, memory, draining, shutdown."""
