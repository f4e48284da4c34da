"""Blob storage, and the locks and private folders of the data directory."""
