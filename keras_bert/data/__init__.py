"""From raw text to batches: corpora, pairs, masks, packing, tables. TensorFlow."""
