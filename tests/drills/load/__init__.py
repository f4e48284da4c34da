"""Load drill: mixed traffic on a running stack, long enough to detect growth, then overload."""
