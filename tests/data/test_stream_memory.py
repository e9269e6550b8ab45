"""A stream without end is read in bounded memory."""

import gc
import itertools
import weakref

from keras_bert import Batching, BertClassifier, BertClassifierPreprocessor


class Text(str):
    """Can be referred to weakly, unlike a str."""


def test_texts_and_batches_of_a_stream_are_freed(letters, make_backbone):
    texts = weakref.WeakSet()

    def rows():
        for number in itertools.count():
            text = Text(f"a b {number}")
            texts.add(text)
            yield text, 1

    reader = BertClassifierPreprocessor(letters, 8, label_names=["no", "yes"])
    model = BertClassifier(make_backbone(), preprocessor=reader)
    batches = iter(model.batches(rows(), batching=Batching(64)))
    arrays = [weakref.ref(inputs["token_ids"]) for inputs, _ in itertools.islice(batches, 200)]
    gc.collect()
    assert len(texts) <= 4 * 1024  # chunks of a pass, and what is read ahead
    assert sum(array() is not None for array in arrays) <= 16  # a chunk's
