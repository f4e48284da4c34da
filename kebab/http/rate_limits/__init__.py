"""Rate limits of callers and of client addresses."""
