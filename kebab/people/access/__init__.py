"""Access: who is calling, what they may do, and a report of both."""
