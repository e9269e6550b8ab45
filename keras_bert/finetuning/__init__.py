"""Fine-tuning: epochs, scores, the best preset, and runs that resume."""
