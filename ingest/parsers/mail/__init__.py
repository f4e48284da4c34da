"""Parser of mail."""
