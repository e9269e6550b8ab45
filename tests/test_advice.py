"""Advice works: a wrong call names what to write instead, and the call that follows it runs.

A row has the wrong call, what its message must name, and the right call, unless other tests run it.
"""

import pathlib
import tempfile

import keras
import numpy as np
import pandas as pd
import pytest

import keras_bert as kb
from keras_bert import losses, metrics, readers

tf = pytest.importorskip("tensorflow")
if keras.backend.backend() != "tensorflow":
    pytest.skip("messages are the same on all backends", allow_module_level=True)

TOKENIZER = kb.BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"])
READER = kb.BertClassifierPreprocessor(TOKENIZER, 12)
X, Y, N = ["a b", "c", "d e", "f"], ["no", "yes", "yes", "no"], [0, 1, 1, 0]
PAIRS = (X, X[::-1])
TABLE = pd.DataFrame({"text": X, "label": Y})
INPUTS = READER(X)
MASKED = {"text": X, "mask_positions": [[1]] * 4}
SQUAD = {"id": "1", "answers": [{"text": "b", "answer_start": 2}]}
WIDER = kb.BertTokenizer([*TOKENIZER.get_vocabulary(), "ab"])
FOLDER = tempfile.mkdtemp()
LATIN = pathlib.Path(FOLDER, "words.txt")
LATIN.write_bytes(b"\xe4 O\n")
MARGINS = losses.MarginMeanSquaredError()
slices, zipped = tf.data.Dataset.from_tensor_slices, tf.data.Dataset.zip


def encoder():
    return kb.BertBackbone(11, 1, 2, 16, 16, max_sequence_length=16)


def task():
    reader = READER.like(READER, label_names=["no", "yes"])
    return kb.BertClassifier(encoder(), preprocessor=reader)


def embedder():
    reader = kb.BertEmbedderPreprocessor(TOKENIZER, 12)
    return kb.BertEmbedder(encoder(), preprocessor=reader)


def reranker():
    reader = kb.BertRerankerPreprocessor(TOKENIZER, 12)
    return kb.BertReranker(encoder(), preprocessor=reader)


def pretrainer():
    return kb.BertPretrainer(encoder(), preprocessor=kb.BertPreprocessor(TOKENIZER, 12))


def tagger():
    reader = kb.BertTokenClassifierPreprocessor(TOKENIZER, 12, label_names=["O", "B"])
    return kb.BertTokenClassifier(encoder(), preprocessor=reader)


def fit(*data, model=None, loss=None, **options):
    model = model or task()
    model.compile("sgd", loss, run_eagerly=True)
    model.fit(*data, verbose=0, **options)
    return model


def frozen(model):
    model.backbone.trainable = False
    return model


def unfrozen(model):
    model.backbone.unfreeze()
    return model


def adapted(model):
    model.enable_lora(2)
    return model


def keras_file():
    path = FOLDER + "/f.keras"
    task().save(path)
    return path


def odd(activation="swish"):
    return kb.BertBackbone(11, 1, 2, 16, 16, activation=activation, max_sequence_length=16)


ADVICE = [
    # Data
    (lambda: fit("train.csv"), "read_csv y"),
    (
        lambda: fit((slices(X), slices(X)), N),
        "tf.data.Dataset.zip",
        lambda: fit(zipped((zipped((slices(X), slices(X))), slices(N)))),
    ),
    (lambda: task()(X), "model.preprocessor(texts)"),
    (lambda: fit(TABLE, TABLE["label"]), "table['text']"),
    (lambda: fit(iter(X), Y, steps_per_epoch=1) and fit(slices(X), Y), "(text, label) leave y"),
    (
        lambda: task().scores(iter([(INPUTS, np.array(N))])),
        "arrays PyDataset tf.data.Dataset",
    ),
    (lambda: task().predict({"token_ids": [[2, 5, 3], [2, 3]]}), "pad padding_mask 0"),
    (
        lambda: fit(iter([*zip(X, N, strict=True)]), model=embedder()),
        "lists (anchor, positive ((text, other), score)",
        lambda: fit(iter([*zip(*PAIRS, strict=True)]), model=embedder()),
    ),
    (
        lambda: embedder().batches(X, [0, 0, 1, 2]),
        "Leave it out fit((texts, positives))",
        lambda: embedder().batches(X[:3] + X[:1], [0, 0, 1, 1]),
    ),
    (
        lambda: embedder().batches((["a"], ["b"])),
        "more pairs batch_size (anchors, positives, negatives)",
    ),
    (
        lambda: embedder().batches(iter(PAIRS), batching=kb.Batching(bucket_lengths=[12])),
        "leave out bucket_lengths",
        lambda: embedder().batches(PAIRS, batching=kb.Batching(bucket_lengths=[12])),
    ),
    (
        lambda: pretrainer().fit(MASKED, N),
        "dict masked_lm next_sentence",
        lambda: fit(MASKED, {"masked_lm": np.ones((4, 1)), "next_sentence": N}, model=pretrainer()),
    ),
    (
        lambda: task().predict({"text": X, "label": 1}),
        "Columns lists",
        lambda: task().predict({"text": X, "label": N}),
    ),
    (lambda: task().scores(slices(np.eye(2)).batch(2)), "raw examples token_ids dict"),
    (lambda: fit(slices((INPUTS, N))), "Batch a dataset"),
    # Labels, weights and losses
    (
        lambda: fit(X, Y, loss=keras.losses.CategoricalCrossentropy(from_logits=True)),
        "keras_bert.losses.LogitCrossentropy label_smoothing",
    ),
    (lambda: task().batches(X, [["no"], ["no", "yes"], [], ["no"]]), "multi_label=True"),
    (lambda: embedder().batches(X), "pairs scores labels"),
    (lambda: losses.WeightedBinaryCrossentropy(iter([])), "pos_weight list"),
    (
        lambda: tagger().scores(["a b"], [[(0, 1, "X")]]),
        "preprocessor.words_and_tags(texts, spans)",
    ),
    (lambda: tagger().fit([X], [["B"] * 4], class_weight={"O": 0.1}), "leave it out"),
    (lambda: fit(X, [0, 1, 2, 1]), "label_names larger num_classes num_classes=1"),
    (
        lambda: fit(PAIRS, [2.0, 1.0, 0.0, 0.0], model=reranker()),
        "Divide loss='mean_squared_error' loss=MarginMeanSquaredError()",
    ),
    (
        lambda: fit((*PAIRS, X), [1.0, 1, 0, 0], model=reranker()),
        "MarginMeanSquaredError()",
    ),
    (
        lambda: fit(PAIRS, [1.0, 1, 0, 0], model=reranker(), loss=MARGINS),
        "leave loss out of compile",
    ),
    # Training
    (lambda: task().compile(learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (lambda: fit(X, Y, learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (
        lambda: fit(PAIRS, model=frozen(embedder())),
        "unfreeze() enable_lora(rank)",
        lambda: fit(PAIRS, model=unfrozen(frozen(embedder()))),
    ),
    (lambda: unfrozen(fit(X, Y, model=frozen(task()))).fit(X, Y), "Compile optimizer"),
    (lambda: kb.TrainingCheckpoint(None), "folder Path None"),
    (
        lambda: task().fit(X, Y, callbacks=[kb.TrainingCheckpoint(FOLDER)]),
        "compile(AdamW(WarmupLinearDecay(5e-05, warmup_steps, total_steps))) finetune",
    ),
    (lambda: adapted(adapted(task())), "merge_lora"),
    (
        lambda: task().save_lora(FOLDER + "/c", "user/name"),
        "enable_lora",
        lambda: adapted(task()).save_lora(FOLDER + "/c", "user/name"),
    ),
    (
        lambda: adapted(task()).grow_vocabulary(["ab"]),
        "grow_vocabulary quantize enable_lora",
        lambda: adapted(task().grow_vocabulary(["ab"])),
    ),
    # Tasks and presets
    (lambda: kb.BertClassifier(encoder(), preprocessor=READER), "label_names num_classes"),
    (
        lambda: kb.BertClassifier(encoder(), 2, preprocessor=len),
        "BertClassifierPreprocessor(tokenizer)",
    ),
    (
        lambda: kb.BertEmbedder(encoder(), pooling=None, preprocessor=READER).answer("a"),
        'pooling="mean"',
    ),
    (lambda: pretrainer().fill_mask("a b"), "[MASK]"),
    (
        lambda: kb.BertClassifier(encoder(), 2, kb.BertClassifierPreprocessor(WIDER)),
        "model.grow_vocabulary(words)",
    ),
    (lambda: kb.BertBackbone.from_preset(keras_file()), "keras.saving.load_model"),
    (
        lambda: kb.BertClassifier(odd(), 2, READER).save_to_hugging_face(FOLDER + "/h"),
        "save_to_preset(folder) 'silu' activation",
        lambda: odd("silu").save_to_hugging_face(FOLDER + "/h"),
    ),
    (
        lambda: task().export(FOLDER + "/e.onnx"),
        f"export('{FOLDER}/e', format='onnx')",
    ),
    (
        lambda: pretrainer().export(FOLDER + "/d"),
        "save_to_preset(folder) BertClassifier.from_preset(folder, num_classes=2)",
    ),
    (
        lambda: kb.BertTokenizer(["a"]),
        "learn_vocabulary",
    ),
    (
        lambda: kb.BertClassifier(num_classes=2),
        "BertBackbone BertClassifier.from_preset(source",
    ),
    (
        lambda: kb.BertClassifier(encoder(), 2, sequence_length=12),
        "BertClassifierPreprocessor(tokenizer",
    ),
    (lambda: task().label_names, "preprocessor.label_names"),
    (
        lambda: task().answer("a", threshold=0.3),
        "model.preprocessor.like(model.preprocessor, threshold=",
    ),
    (lambda: kb.BertPretrainer(encoder(), masked_lm_activation=len), "activation name"),
    # Corpora and files
    (lambda: kb.Corpus("."), "prepare_corpus"),
    (lambda: metrics.retrieval_scores([1], [2]), "relevance query document"),
    (lambda: metrics.retrieval_scores({1: {1: 1}}, {1: {"1": 0.5}}), "both int both str"),
    (lambda: metrics.entity_scores(["B"], ["B"]), "give [tags]"),
    (lambda: metrics.squad_scores([SQUAD], {"1": ""}, null_threshold=0.5), "null_odds"),
    (
        lambda: readers.read_conll(LATIN),
        'encoding="cp1252"',
        lambda: readers.read_conll(LATIN, encoding="cp1252"),
    ),
]


@pytest.mark.parametrize("row", ADVICE)
def test_advice_works(row, caplog):
    wrong, named, *right = row
    message = None
    try:
        wrong()
    except (ValueError, TypeError, AttributeError) as error:
        message = str(error)
    message = message or caplog.text
    assert [part for part in named.split() if part not in message] == [], message
    for call in right:
        call()
