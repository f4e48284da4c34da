"""What a workspace is asked: a log of queries that no search waits for, and the figures made of it."""
