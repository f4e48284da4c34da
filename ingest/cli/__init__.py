"""Parts of the ingestion commands: job progress, reports, the demonstration, benchmarks, evaluation."""
