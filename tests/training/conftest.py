"""Fixtures of the training tests."""

import keras
import numpy as np
import pytest

import keras_bert

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
TEXTS = ["a b c d", "e f g", "h i", "j"] * 2


@pytest.fixture
def mixed_bfloat16():
    keras.config.set_dtype_policy("mixed_bfloat16")
    yield
    keras.config.set_dtype_policy("float32")


@pytest.fixture
def variable():
    def make(values, name="kernel"):
        return keras.Variable(np.asarray(values, "float32"), name=name, dtype="float32")

    return make


@pytest.fixture(scope="module")
def make_task(tmp_path_factory):
    """Makes `(model, batches)`, of known shapes: a tiny task by name, and its own pipeline's."""
    preprocessor = keras_bert.BertPreprocessor(keras_bert.BertTokenizer(WORDS), sequence_length=16)
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "text.txt").write_text("\n\n".join(["\n".join(TEXTS)] * 4))
    corpus = keras_bert.prepare_corpus(
        [str(folder / "text.txt")],
        str(folder / "corpus"),
        preprocessor.tokenizer,
        text_format="sentences",
        num_workers=1,
        progress=False,
    )

    def make(name, packed=False, **arguments):
        backbone = keras_bert.BertBackbone(len(WORDS), 1, 2, 16, 16, **arguments)
        if name == "pretrainer":
            data = keras_bert.pretraining_dataset(
                corpus, batch_size=4, sequence_length=16, packed=packed
            )
            return keras_bert.BertPretrainer(backbone), data
        task = getattr(keras_bert, f"Bert{name.title().replace('_', '')}")
        own = preprocessor
        if name == "span_labeler":
            own = keras_bert.BertSpanLabelerPreprocessor(
                preprocessor.tokenizer, 16, document_stride=4, max_question_length=4
            )
        classes = {"num_classes": 3} if "classifier" in name else {}
        model = task(backbone, preprocessor=own, **classes)
        full = keras_bert.Batching(4, pad_to="full", drop_remainder=True)  # "auto" on a TPU
        return model, model.batches(*examples(name), batching=full)

    return make


def examples(task):
    words = [text.split() for text in TEXTS]
    answers = [{"text": "b", "answer_start": 2}]
    return {
        "classifier": (TEXTS, np.arange(8) % 3),
        "token_classifier": (words, [[0] * len(sentence) for sentence in words]),
        "span_labeler": ([{"question": "what", "context": "a b c", "answers": answers}] * 8, None),
        "multiple_choice": ([{"context": "a", "choices": ["a", "b"], "label": 0}] * 8, None),
        "reranker": ((TEXTS, TEXTS[::-1]), np.arange(8) % 2),
        "embedder": ((TEXTS, TEXTS[::-1]), None),
    }[task]
