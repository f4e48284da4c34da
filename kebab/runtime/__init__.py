"""The process itself: role, threads, memory, shutdown."""
