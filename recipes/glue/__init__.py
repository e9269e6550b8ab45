"""What `finetune_glue.py` shares with the tables of the paper: grids, results, submissions."""
