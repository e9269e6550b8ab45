"""A user's script for type checkers: `tests/test_types.py` runs mypy on it, and nothing runs it.

An unused `type: ignore` fails the check, so each one below proves that its line is an error.
"""

from typing import assert_type

import keras_bert
from keras_bert import BertTokenizer

backbone = keras_bert.BertBackbone(
    vocabulary_size=30522, num_layers=2, num_heads=2, hidden_dim=128, intermediate_dim=512
)
assert_type(backbone, keras_bert.BertBackbone)

keras_bert.BertBackbone(vocabulary_size=30522, **keras_bert.sizes.tiny)

model = keras_bert.BertClassifier(backbone, num_classes=2)
assert_type(model, keras_bert.BertClassifier)
model.compile(**model.default_compile_args())
model.fit(["a good book", "a bad book"], [1, 0])
model.save_to_preset("reviews")
preprocessor = keras_bert.BertClassifierPreprocessor.from_preset("reviews", sequence_length=64)
assert_type(preprocessor, keras_bert.BertClassifierPreprocessor)
assert_type(keras_bert.BertClassifier.from_preset("reviews"), keras_bert.BertClassifier)
assert_type(keras_bert.BertBackbone.from_preset("reviews"), keras_bert.BertBackbone)
assert_type(keras_bert.BertTokenizer.from_preset("reviews"), keras_bert.BertTokenizer)

typo = keras_bert.BertClasifier  # type: ignore[attr-defined]
keras_bert.BertClassifier(num_classes=2)  # type: ignore[call-arg]
model.save_to_preset()  # type: ignore[call-arg]

tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "book"])
assert_type(tokenizer, keras_bert.BertTokenizer)
assert_type(keras_bert.__version__, str)
