"""Scripts to run and copy: `python recipes/x.py`, or `python -m keras_bert.recipes.x`."""
