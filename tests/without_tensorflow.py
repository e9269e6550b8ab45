"""Every task, from text to answers, with a backend and without the extras' packages.

`test_backends.py` runs it, and the weekly workflow in real environments.
"""

import functools
import sys

EXTRAS = ("tensorflow", "tensorflow_text", "flatbuffers", "keras_hub", "keras_nlp", "tensorboard")
for name in (*EXTRAS, "matplotlib", "google_crc32c", "sentencex"):
    sys.modules[name] = None  # import raises ModuleNotFoundError
import keras_bert

assert "keras" not in sys.modules, "names load on first use"
exec("from keras_bert import *", {})
import keras
import numpy as np

FOLDER = sys.argv[1]
LETTERS = [*"abcdefghijklmnopqrstuvwxyz"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENIZER = keras_bert.BertTokenizer(SPECIAL + LETTERS + ["##" + x for x in LETTERS] + [*".,()"])
TINY = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 16}
TEXTS = ["ab c d", "hello, this is a longer text.", "x", "a (b) c"]
PAIRS = (TEXTS, TEXTS[::-1])
WORDS = [text.split() for text in TEXTS]
QUESTIONS = [
    {"id": str(n), "question": "who is", "context": text, "answers": [answer]}
    for n, text in enumerate(["a b c d e f", "g h i j k l m n o p q r s t u v w"])
    for answer in [{"text": text[:3], "answer_start": 0}]
]
CHOICES = [{"context": "a b", "choices": ["c", "d e", "f"][: 2 + n], "label": n} for n in (0, 1)]
TASKS = {
    "BertClassifier": (TEXTS, ["no", "yes"] * 2, {"label_names": ["no", "yes"]}),
    "BertTokenClassifier": (
        WORDS,
        [["B-X"] * len(words) for words in WORDS],
        {"label_names": ["O", "B-X"]},
    ),
    "BertSpanLabeler": (
        QUESTIONS,
        None,
        {"document_stride": 4, "max_question_length": 4},
    ),
    "BertMultipleChoice": (CHOICES, None, {}),
    "BertReranker": (PAIRS, [1, 0, 0.5, 0], {}),
    "BertEmbedder": (PAIRS, None, {}),
}

same = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5)
for task, (x, y, settings) in TASKS.items():
    kind, reader = getattr(keras_bert, task), getattr(keras_bert, f"{task}Preprocessor")
    backbone = keras_bert.BertBackbone(TOKENIZER.vocabulary_size(), **TINY)
    model = kind(backbone, preprocessor=reader(TOKENIZER, sequence_length=16, **settings))
    if task != "BertClassifier":  # whose optimizer is the default one
        model.compile("sgd")
    assert np.isfinite(model.fit(x, y, verbose=0).history["loss"]).all()
    assert len(model.answer(x)) == len(TEXTS if x is PAIRS else x)
    assert model.scores(x, y)
    outputs = model.predict(x, verbose=0)
    model.save_to_preset(f"{FOLDER}/{task}")
    model.save_to_hugging_face(f"{FOLDER}/{task}-hf")
    for folder in (f"{FOLDER}/{task}", f"{FOLDER}/{task}-hf"):
        loaded = kind.from_preset(folder, **settings)
        keras.tree.map_structure(same, loaded.predict(x, verbose=0), outputs)

buckets = keras_bert.Batching(2, bucket_lengths=(8, 16))
kind, (x, y, _) = keras_bert.BertClassifier, TASKS["BertClassifier"]
strategy = keras_bert.get_strategy()
with strategy.scope():
    model = kind.from_preset(f"{FOLDER}/BertClassifier")
model.fit(x, y, batching=buckets, verbose=0)
model.evaluate(x, y, verbose=0)
settings = keras_bert.FineTuning(epochs=1)
keras_bert.finetune(model, (x, y), (x, y), f"{FOLDER}/run", settings, strategy=strategy)
assert kind.from_preset(f"{FOLDER}/run/best").answer("a b")["label"] in ("no", "yes")
pretrainer = keras_bert.BertPretrainer.from_preset(f"{FOLDER}/run/best")
assert len(pretrainer.fill_mask("a [MASK] c", top_k=3)[0]) == 3
batches = model.batches(x, y, batching=keras_bert.Batching(2))
assert isinstance(batches, keras.utils.PyDataset) and len(list(batches)) == 2
try:
    keras_bert.pretraining_dataset(f"{FOLDER}/corpus", batch_size=2)
except ImportError as error:
    assert "keras3-bert[tensorflow]" in str(error)
print("all is well")
