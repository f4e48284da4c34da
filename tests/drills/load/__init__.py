"""Mixed traffic on a running stack, long enough to see whether anything grows, and then too much."""
