"""A user's script for type checkers: `tests/test_types.py` runs mypy on it, and nothing runs it.

An unused `type: ignore` fails the check, so each one below proves that its line is an error.
"""

from typing import Any, assert_type

import numpy as np

import keras_bert
from keras_bert import BertTokenizer
from keras_bert.preprocessing.question_windows import QuestionWindows
from keras_bert.preprocessing.text_rows import Rows

backbone = keras_bert.BertBackbone(vocabulary_size=30522, **keras_bert.sizes.tiny)
assert_type(backbone, keras_bert.BertBackbone)

model = keras_bert.BertClassifier(backbone, num_classes=2)
assert_type(model, keras_bert.BertClassifier)
model.compile(**model.default_compile_args())
print(model.scores(["a good book"], [1]).accuracy)  # type: ignore[attr-defined]
model.predictt(["a good book"])  # type: ignore[attr-defined]
assert_type(model.count_params(), int)
model.save_to_preset("reviews")
preprocessor = keras_bert.BertClassifierPreprocessor.from_preset("reviews", sequence_length=64)
assert_type(preprocessor, keras_bert.BertClassifierPreprocessor)
assert_type(keras_bert.BertClassifier.from_preset("reviews"), keras_bert.BertClassifier)
assert_type(keras_bert.BertBackbone.from_preset("reviews"), keras_bert.BertBackbone)

keras_bert.BertClassifier.from_preset("reviews", num_labels=2)  # type: ignore[call-arg]
keras_bert.BertTask.from_preset("reviews", sequence_length="64")  # type: ignore[arg-type]

typo = keras_bert.BertClasifier  # type: ignore[attr-defined]
keras_bert.BertClassifier(num_classes=2)  # type: ignore[call-arg]

tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "book"])
assert_type(tokenizer, keras_bert.BertTokenizer)

reader = keras_bert.BertClassifierPreprocessor(tokenizer, label_names=["bad", "good"])
assert_type(reader.label_names, list[str] | None)
rows = reader.read(["a good book", "a bad book"], [1, 0])
assert_type(rows, Rows)
assert_type(reader.labels.numbers(["good", "bad"]), np.ndarray)
reader.batches({"text": ["a book"]}, ["good"], batching=keras_bert.Batching(batch_size=16))
reader.batches(["a book"], batching=16)  # type: ignore[arg-type]

span_labeler = keras_bert.BertSpanLabelerPreprocessor(tokenizer)
assert_type(span_labeler.read(keras_bert.readers.read_squad("dev.json")), QuestionWindows)

model.fit(["a good book"], [1], epochs=3, validation_split=0.1, class_weight="balanced")
model.fit(["a good book"], [1], epoch=3)  # type: ignore[call-arg]
assert_type(model.predict(["a good book"]), np.ndarray)
assert_type(keras_bert.BertSpanLabeler(backbone).predict([]), dict[str, np.ndarray])
assert_type(model.answer("a good book"), dict[str, Any])
