"""What GLUE needs: its tasks, files and scores, grids, the table of results, submissions."""
