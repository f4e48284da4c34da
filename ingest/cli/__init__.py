"""Parts of the ingestion commands: the demonstration and evaluation."""
