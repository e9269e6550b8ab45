"""Slices on Apache Beam: the same function as in local processes, on any runner."""

import json

from keras_bert.corpus.corpus_slice import done_path, write_slice

try:
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
except ImportError as error:
    raise ImportError(
        "Apache Beam is not installed: pip install 'keras3-bert[beam]', or leave out the runner to "
        "use this machine's cores."
    ) from error

import tensorflow as tf


class _WriteSlice(beam.DoFn):
    """Writes the shards of the slices that Beam hands to this worker."""

    def __init__(self, num_slices, folder, settings, tokenizer):
        self.arguments = (num_slices, folder, settings)
        self.tokenizer_type, self.config = type(tokenizer), tokenizer.get_config()

    def setup(self):
        """Makes the tokenizer, once a worker: it holds TensorFlow objects, which do not travel."""
        self.tokenizer = self.tokenizer_type.from_config(self.config)

    def process(self, slice_):
        """Writes one shard."""
        write_slice(slice_, *self.arguments, self.tokenizer)
        yield slice_.index


def run_on_beam(slices, num_slices, folder, settings, tokenizer, options):
    """Runs the slices with Beam and then yields `(slice, result)` for each."""
    with beam.Pipeline(options=PipelineOptions(list(options))) as pipeline:
        (
            pipeline
            | "Slices" >> beam.Create(slices)
            | "Spread" >> beam.Reshuffle()  # otherwise one worker may get them all
            | "Write" >> beam.ParDo(_WriteSlice(num_slices, folder, settings, tokenizer))
        )
    for slice_ in slices:
        with tf.io.gfile.GFile(done_path(folder, slice_, num_slices), "rb") as file:
            yield slice_, json.loads(file.read())
