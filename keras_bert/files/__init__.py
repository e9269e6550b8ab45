"""Atomic file writes, local and remote; UTF-8 and JSON files."""
