"""Repeats the tables of BERT's paper: `python recipes/paper/ablations.py`."""
