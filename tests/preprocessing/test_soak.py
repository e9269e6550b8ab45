"""A gigabyte of text is read as a stream, and memory stays flat."""

import itertools
import random
from pathlib import Path

import pytest

from keras_bert import Batching, BertBackbone, BertClassifier, BertClassifierPreprocessor, sizes

PAGES = Path("/proc/self/statm")


def texts():
    """Yields texts of 100 to 2,000 bytes without end, each new: a cache would grow."""
    generator = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    while True:
        words = ["".join(generator.choices(letters, k=generator.randint(1, 8))) for _ in range(400)]
        for _ in range(100):
            yield " ".join(generator.choices(words, k=generator.randint(20, 370))), 1


@pytest.mark.weekly
@pytest.mark.slow
def test_a_gigabyte_of_text_leaves_nothing_in_memory(tokenizer):
    if not PAGES.exists():
        pytest.skip("reads the memory of a process from Linux's /proc")
    reader = BertClassifierPreprocessor(tokenizer, 128, label_names=["no", "yes"])
    backbone = BertBackbone(tokenizer.vocabulary_size(), **sizes.tiny)
    model = BertClassifier(backbone, preprocessor=reader)
    batches = iter(model.batches(texts(), batching=Batching(64)))

    def memory_after(num_batches):
        """Returns the MiB of this process."""
        for _ in itertools.islice(batches, num_batches):
            pass
        return int(PAGES.read_text().split()[1]) * 4096 / 2**20

    # Memory grows while buffers fill, in a fifth of the run.
    # After that, 800 MB of text follow: were one byte in 20 of it kept, memory would grow by 40 MB.
    settled = memory_after(3_000)
    for _ in range(4):
        assert memory_after(3_000) - settled < 40
