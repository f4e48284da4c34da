"""What the Django admin of all apps shares: its site, lists that stay fast, acts after a question."""
