"""What the verbs of ingestion need: following jobs, reports, the demonstration, measurements."""
