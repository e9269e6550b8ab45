"""Slice processing on Apache Beam, on any runner; workers run the same function as locally."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from keras_bert.corpus.corpus_plan import Settings, Slice
from keras_bert.corpus.corpus_slice import done_path, write_slice
from keras_bert.files.json_files import read_json

if TYPE_CHECKING:
    from keras_bert.text.tokenizer import BertTokenizer


try:
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
except ImportError as error:
    raise ImportError(
        "Apache Beam is not installed. Run pip install 'keras3-bert[beam]', or omit beam_options "
        "to use this machine's cores."
    ) from error


class _WriteSlice(beam.DoFn):
    """Worker that writes the shards of its slices."""

    def __init__(self, num_slices, folder, settings, tokenizer):
        self.arguments = (num_slices, folder, settings)
        self.tokenizer_type, self.config = type(tokenizer), tokenizer.get_config()

    def setup(self):
        """Creates the tokenizer once per worker; its TensorFlow objects cannot be pickled."""
        self.tokenizer = self.tokenizer_type.from_config(self.config)

    def process(self, slice_):
        """Writes one shard."""
        write_slice(slice_, *self.arguments, self.tokenizer)
        yield slice_.index


def run_on_beam(
    slices: list[Slice],
    num_slices: int,
    folder: str,
    settings: Settings,
    tokenizer: "BertTokenizer",
    options: Sequence[str],
) -> Iterator[tuple[Slice, dict]]:
    """Runs all slices with Beam, then yields `(slice, result)` for each."""
    with beam.Pipeline(options=PipelineOptions(list(options))) as pipeline:
        (
            pipeline
            | "Slices" >> beam.Create(slices)
            | "Spread" >> beam.Reshuffle()  # otherwise one worker may get all slices
            | "Write" >> beam.ParDo(_WriteSlice(num_slices, folder, settings, tokenizer))
        )
    for slice_ in slices:
        yield slice_, read_json(done_path(folder, slice_, num_slices))
