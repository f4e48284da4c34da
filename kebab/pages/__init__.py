"""What all pages share: who may see them, their frame, their tabs, their plots."""
