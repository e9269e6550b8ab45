"""Folders that models are loaded from and saved to."""
