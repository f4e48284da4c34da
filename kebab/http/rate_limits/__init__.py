"""How much a caller may ask for: who asks from where, how often, and what the next one is told."""
