"""A gigabyte of text is read as a stream, and memory stays flat."""

import random
from pathlib import Path

import pytest

from keras_bert import Batching, BertBackbone, BertClassifier, BertClassifierPreprocessor, sizes

PAGES = Path("/proc/self/statm")
NUM_BYTES, STEPS = 10**9, 20
# Memory grows while buffers fill, in a fifth of the run.
# After that, 800 MB of text follow: were one byte in 20 of it kept, memory would grow by 40 MB.
SETTLED, MOST_MIB = 4, 40


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
    num_bytes = 0

    def counted():
        nonlocal num_bytes
        for text, label in texts():
            num_bytes += len(text)
            yield text, label

    reader = BertClassifierPreprocessor(tokenizer, 128, label_names=["no", "yes"])
    backbone = BertBackbone(tokenizer.vocabulary_size(), **sizes.tiny)
    model = BertClassifier(backbone, preprocessor=reader)
    batches = model.batches(counted(), batching=Batching(64))
    memory = []
    for _ in batches:
        if num_bytes >= NUM_BYTES * (len(memory) + 1) / STEPS:
            memory.append(int(PAGES.read_text().split()[1]) * 4096 / 2**20)
        if len(memory) == STEPS:
            break
    growth = max(memory[SETTLED:]) - memory[SETTLED - 1]
    assert growth < MOST_MIB, f"memory grows by {growth} MiB: {memory}"
