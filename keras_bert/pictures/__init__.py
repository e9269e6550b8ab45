"""Pictures of results, drawn by matplotlib (the extra `plots`)."""
