"""Raw text to shards to pre-training batches."""
