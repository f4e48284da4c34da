"""Requests that Kebab sends: to which addresses, for how long, how much of an answer is read."""
