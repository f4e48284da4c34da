"""Commands that talk to a server over HTTP: that of this machine's stack, or another one.

Nothing here imports Django, so that these commands start at once.
"""
