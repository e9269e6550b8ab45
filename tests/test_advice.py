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
HOT = np.eye(2)[N]
PAIRS = (X, X[::-1])
WORDS, TAGS = [["a", "b"]], [["B", "O"]]
TABLE = pd.DataFrame({"text": X, "label": Y})
ROWS = list(zip(X, Y, strict=True))
INPUTS = READER(X)
MASKED = {"text": X, "mask_positions": [[1]] * 4}
PADDED = {"token_ids": [[2, 5, 3], [2, 3, 0]], "padding_mask": [[1, 1, 1], [1, 1, 0]]}
QUESTION = {"question": "a", "context": "a b", "answers": [{"text": "b", "answer_start": 2}]}
SQUAD = QUESTION | {"id": "1"}
WIDER = kb.BertTokenizer([*TOKENIZER.get_vocabulary(), "ab"])
MIXED = "a B-PER\nb O\nc I-PER\n"  # of no scheme
FOLDER = tempfile.mkdtemp()
MARGINS = losses.MarginMeanSquaredError()
BINARY = keras.losses.BinaryCrossentropy(from_logits=True)
CATEGORICAL = keras.losses.CategoricalCrossentropy(from_logits=True)
slices, zipped = tf.data.Dataset.from_tensor_slices, tf.data.Dataset.zip


def encoder():
    return kb.BertBackbone(11, 1, 2, 16, 16, max_sequence_length=16)


def task(**settings):
    """Makes a classifier, with settings of its preprocessor."""
    reader = READER.like(READER, **{"label_names": ["no", "yes"], **settings})
    return kb.BertClassifier(encoder(), preprocessor=reader)


def embedder(**settings):
    return kb.BertEmbedder(
        encoder(), **settings, preprocessor=kb.BertEmbedderPreprocessor(TOKENIZER, 12)
    )


def reranker():
    reader = kb.BertRerankerPreprocessor(TOKENIZER, 12)
    return kb.BertReranker(encoder(), preprocessor=reader)


def asker():
    reader = kb.BertSpanLabelerPreprocessor(TOKENIZER, 16, document_stride=4, max_question_length=4)
    return kb.BertSpanLabeler(encoder(), preprocessor=reader)


def pretrainer(backbone=None, **settings):
    reader = kb.BertPreprocessor(TOKENIZER, 12)
    return kb.BertPretrainer(backbone or encoder(), preprocessor=reader, **settings)


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


def merged(model):
    model.merge_lora()
    return model


def scheduled():
    model = task()
    model.compile(kb.AdamW(kb.WarmupLinearDecay(5e-5, 1, 10)), run_eagerly=True)
    return model


def trained():
    model = fit(X, Y)
    model.compile(kb.AdamW(1e-2), run_eagerly=True)
    return model


def executed(steps):
    model = task()
    model.compile("sgd", steps_per_execution=steps, run_eagerly=steps == 1)
    return model


def featured(features=None):
    model = kb.BertClassifier(encoder(), 2, READER, num_features=2)
    model.compile("sgd", run_eagerly=True)
    if features is not None:
        model.adapt_features(features)
    return model


def resumed(step, restores=False):
    folder = tempfile.mkdtemp()
    for _ in range(step):
        model = scheduled()
        checkpoint = kb.TrainingCheckpoint(folder)
        if restores:
            checkpoint.restore(model)
        model.fit(X, Y, verbose=0, callbacks=[checkpoint])
    return model


def keras_file():
    path = FOLDER + "/f.keras"
    task().save(path)
    return path


def quantized():
    model = task()
    model.quantize("int8")
    return model


def odd(activation="swish"):
    return kb.BertBackbone(11, 1, 2, 16, 16, activation=activation, max_sequence_length=16)


def written(text, encoding="utf-8"):
    path = pathlib.Path(FOLDER, "words.txt")
    path.write_text(text, encoding)
    return path


def saved(model):
    folder = tempfile.mkdtemp()
    model.save_to_preset(folder)
    return folder


ADVICE = [
    # Data
    (lambda: fit("train.csv"), "read_csv y"),
    (
        lambda: fit((slices(X), slices(X)), N),
        "tf.data.Dataset.zip",
        lambda: fit(zipped((zipped((slices(X), slices(X))), slices(N)))),
    ),
    (
        lambda: task()(X),
        "model.preprocessor(texts)",
        lambda: task()(task().preprocessor(X)),
    ),
    (
        lambda: fit(TABLE, TABLE["label"]),
        "table['text']",
        lambda: fit(TABLE["text"], TABLE["label"]),
    ),
    (
        lambda: fit(iter(ROWS), validation_split=0.5),
        "validation_data",
        lambda: fit(iter(ROWS), validation_data=(X, N)),
    ),
    (
        lambda: fit(iter(X), Y, steps_per_epoch=1) and fit(slices(X), Y),
        "(text, label) leave y",
        lambda: fit(slices((X, Y))),
    ),
    (
        lambda: task().scores(slices((X, N)).repeat()),
        "no end a part of it",
        lambda: task().scores(slices((X, N)).repeat().take(3)),
    ),
    (
        lambda: task().scores(iter([(INPUTS, np.array(N))])),
        "arrays PyDataset tf.data.Dataset",
        lambda: task().scores(INPUTS, N),
    ),
    (
        lambda: task().predict({"token_ids": [[2, 5, 3], [2, 3]]}),
        "pad padding_mask 0",
        lambda: task().predict(PADDED),
    ),
    (
        lambda: fit(iter([*zip(X, N, strict=True)]), model=embedder()),
        "lists (anchor, positive ((text, other), score)",
        lambda: fit(iter([*zip(*PAIRS, strict=True)]), model=embedder()),
        lambda: fit(iter([*zip(zip(*PAIRS, strict=True), N, strict=True)]), model=embedder()),
    ),
    (
        lambda: embedder().batches(X, [0, 0, 1, 2]),
        "Leave it out fit((texts, positives))",
        lambda: embedder().batches(X[:3] + X[:1], [0, 0, 1, 1]),
    ),
    (
        lambda: embedder().batches((["a"], ["b"])),
        "more pairs batch_size (anchors, positives, negatives)",
        lambda: embedder().batches((["a"], ["b"], ["c"])),
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
    (lambda: task().preprocessor.read(X, None, [1.0]), "give y with sample_weight"),
    (lambda: asker().fit([QUESTION], N), "leave y and sample_weight out"),
    (lambda: tagger().fit(WORDS), "pass y"),
    (
        lambda: task().answer("a " * 20),
        "model.preprocessor.like(model.preprocessor, sequence_length=...) window_stride=...",
        lambda: READER.like(READER, sequence_length=16),
        lambda: task(window_stride=5).answer("a " * 20),
    ),
    (
        lambda: task().predict({"text": X, "label": 1}),
        "Columns lists",
        lambda: task().predict({"text": X, "label": N}),
    ),
    (
        lambda: task().scores(slices(HOT).batch(2)),
        "raw examples token_ids dict",
        lambda: task().scores(slices((X, N))),
    ),
    # Labels, weights and losses
    (
        lambda: fit(X, Y, loss=CATEGORICAL),
        "keras_bert.losses.LogitCrossentropy label_smoothing",
        lambda: fit(X, Y, loss=losses.LogitCrossentropy(label_smoothing=0.1)),
    ),
    (lambda: task(label_names=["0", "1"]).batches(X, Y), "label_names=['no', 'yes']"),
    (lambda: task().batches(X, [["no"], ["no", "yes"], [], ["no"]]), "multi_label=True"),
    (
        lambda: embedder().batches(X),
        "pairs scores labels",
        lambda: [embedder().batches(*data) for data in ((PAIRS,), (PAIRS, N), (X, N))],
    ),
    (lambda: losses.WeightedBinaryCrossentropy(iter([])), "pos_weight list"),
    (
        lambda: task().predict([{"id": "7", "review": "a"}]),
        "'text' 'sentence1' 'sentence2' table['review'] tuple",
        lambda: [task().predict(x) for x in ([{"id": "7", "text": "a"}], ["a"], (["a"], ["b"]))],
    ),
    (
        lambda: tagger().scores(["a b"], [[(0, 1, "X")]]),
        "preprocessor.words_and_tags(texts, spans)",
        lambda: tagger().scores(*tagger().preprocessor.words_and_tags(["a b"], [[(0, 1, "B")]])),
    ),
    (
        lambda: fit(X, HOT),
        "y.argmax(axis=1) loss=keras.losses.CategoricalCrossentropy(from_logits=True)",
        lambda: fit(X, HOT.argmax(axis=1)),
        lambda: fit(X, HOT, loss=CATEGORICAL),
    ),
    (
        lambda: fit(X, [0, 1, 2, 1]),
        "label_names larger num_classes num_classes=1",
        lambda: fit(X, [0, 1, 2, 1], model=kb.BertClassifier(encoder(), 3, READER)),
        lambda: fit(X, [0, 1, 2, 0.5], model=kb.BertClassifier(encoder(), 1, READER)),
    ),
    (
        lambda: fit(X, N, class_weight="even"),
        "'balanced' dict of weights",
        lambda: fit(X, N, class_weight="balanced"),
        lambda: fit(X, N, class_weight={"no": 2.0}),
    ),
    (
        lambda: fit(iter(ROWS), class_weight="balanced"),
        "array y dict of weights",
        lambda: fit(iter(ROWS), class_weight={"no": 2.0}),
    ),
    (
        lambda: fit(X, [["no"]] * 4, model=task(multi_label=True), class_weight={"no": 2.0}),
        "compile(loss=keras_bert.losses.WeightedBinaryCrossentropy(pos_weight))",
        lambda: fit(
            X,
            [["no"], ["yes"], [], []],
            model=task(multi_label=True),
            loss=losses.WeightedBinaryCrossentropy([1.0, 2.0]),
        ),
    ),
    (lambda: task(label_names=[0, 2]), "strings", lambda: task(label_names=["0", "2"])),
    (
        lambda: fit(PAIRS, [2.0, 1.0, 0.0, 0.0], model=reranker()),
        "Divide loss='mean_squared_error' loss=MarginMeanSquaredError()",
        lambda: fit(PAIRS, [1.0, 0.5, 0.0, 0.0], model=reranker()),
        lambda: fit(PAIRS, [2.0, 1, 0, 0], model=reranker(), loss="mean_squared_error"),
        lambda: fit((*PAIRS, X), [2.0, 1, 0, 0], model=reranker(), loss=MARGINS),
    ),
    (
        lambda: fit((*PAIRS, X), [1.0, 1, 0, 0], model=reranker()),
        "MarginMeanSquaredError()",
    ),
    (
        lambda: fit(PAIRS, [1.0, 1, 0, 0], model=reranker(), loss=MARGINS),
        "leave loss out of compile",
        lambda: fit(PAIRS, [1.0, 1, 0, 0], model=reranker()),
    ),
    (
        lambda: task().compile(loss="sparse_categorical_crossentropy"),
        "keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
        lambda: task().compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)),
    ),
    (
        lambda: task(multi_label=True).compile(metrics=["accuracy"], loss=BINARY),
        "keras.metrics.BinaryAccuracy(threshold=0.0)",
        lambda: task(multi_label=True).compile(
            metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)], loss=BINARY
        ),
    ),
    (
        lambda: task(multi_label=True).compile(metrics=[keras.metrics.Precision()], loss=BINARY),
        "Leave it out scores(x, y)",
        lambda: fit(X, HOT, model=task(multi_label=True)).scores(X, HOT),
    ),
    (
        lambda: fit(PAIRS, [0.5] * 4, model=embedder()),
        "fit((texts, others))",
        lambda: fit(PAIRS, model=embedder()),
    ),
    # Training
    (lambda: task().compile(learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (lambda: fit(X, Y, learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (
        lambda: fit(PAIRS, model=frozen(embedder())),
        "unfreeze() enable_lora(rank)",
        lambda: fit(PAIRS, model=unfrozen(frozen(embedder()))),
        lambda: fit(PAIRS, model=adapted(frozen(embedder()))),
    ),
    (lambda: unfrozen(fit(X, Y, model=frozen(task()))).fit(X, Y), "Compile optimizer"),
    (lambda: kb.TrainingCheckpoint(None), "folder Path None"),
    (
        lambda: task().fit(X, Y, callbacks=[kb.TrainingCheckpoint(FOLDER)]),
        "compile(AdamW(WarmupLinearDecay(5e-05, warmup_steps, total_steps))) finetune",
        lambda: scheduled().fit(X, Y, callbacks=[kb.TrainingCheckpoint(FOLDER + "/a")]),
    ),
    (
        lambda: trained().fit(X, Y),
        "compile(AdamW(5e-5)) model.backbone.freeze()",
    ),
    (
        lambda: executed(2).fit(X, Y, steps_per_epoch=1, batch_size=2),
        "Compile divisors",
        lambda: executed(1).fit(X, Y, steps_per_epoch=1, batch_size=2),
    ),
    (
        lambda: adapted(adapted(task())),
        "merge_lora",
        lambda: adapted(merged(adapted(task()))),
    ),
    (
        lambda: task().save_lora(FOLDER + "/c", "user/name"),
        "enable_lora",
        lambda: adapted(task()).save_lora(FOLDER + "/c", "user/name"),
    ),
    (
        lambda: featured().fit(slices(({"text": X, "features": HOT}, N)), verbose=0),
        "model.adapt_features(features)",
        lambda: featured(HOT).fit(slices(({"text": X, "features": HOT}, N)), verbose=0),
    ),
    (
        lambda: adapted(task()).grow_vocabulary(["ab"]),
        "grow_vocabulary quantize enable_lora",
        lambda: adapted(task().grow_vocabulary(["ab"])),
    ),
    # Tasks and presets
    (
        lambda: kb.BertClassifier(encoder(), preprocessor=READER),
        "label_names num_classes",
        lambda: kb.BertClassifier(encoder(), 3, READER),
    ),
    (
        lambda: kb.BertClassifier(encoder(), 2, preprocessor=len),
        "BertClassifierPreprocessor(tokenizer)",
    ),
    (
        lambda: kb.BertEmbedder(encoder(), pooling=None, preprocessor=READER).answer("a"),
        'pooling="mean"',
    ),
    (lambda: pretrainer().fill_mask("a b"), "[MASK]", lambda: pretrainer().fill_mask("a [MASK]")),
    (
        lambda: kb.BertClassifier(encoder(), 2, kb.BertClassifierPreprocessor(WIDER)),
        "model.grow_vocabulary(words)",
        lambda: task().grow_vocabulary(["ab"]),
    ),
    (
        lambda: kb.BertBackbone.from_preset(keras_file()),
        "keras.saving.load_model",
        lambda: keras.saving.load_model(keras_file()),
    ),
    (
        lambda: kb.BertClassifier(odd(), 2, READER).save_to_hugging_face(FOLDER + "/h"),
        "save_to_preset(folder) 'silu' activation",
        lambda: saved(kb.BertClassifier(odd(), 2, READER)),
        lambda: odd("silu").save_to_hugging_face(FOLDER + "/h"),
    ),
    (
        lambda: task().export(FOLDER + "/e.onnx"),
        f"export('{FOLDER}/e', format='onnx')",
    ),
    (
        lambda: task().export("e.tflite"),
        "export('e', format='litert')",
    ),
    (
        lambda: kb.BertClassifier.from_preset(FOLDER + "/f.keras"),
        "folder",
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
        lambda: kb.BertClassifier(encoder(), 2, READER),
    ),
    (lambda: task().label_names, "preprocessor.label_names"),
    (
        lambda: task().answer("a", threshold=0.3),
        "model.preprocessor.like(model.preprocessor, threshold=",
        lambda: READER.like(READER, threshold=0.3),
    ),
    (lambda: kb.BertPretrainer(encoder(), masked_lm_activation=len), "activation name"),
    # Corpora and files
    (lambda: kb.Corpus("."), "prepare_corpus"),
    (lambda: metrics.retrieval_scores([1], [2]), "relevance query document"),
    (
        lambda: metrics.retrieval_scores({1: {1: 1}}, {1: {"1": 0.5}}),
        "both int both str",
        lambda: metrics.retrieval_scores({1: {1: 1}}, {1: {1: 0.5}}),
    ),
    (
        lambda: metrics.entity_scores(["B"], ["B"]),
        "give [tags]",
        lambda: metrics.entity_scores([["B-X"]], [["B-X"]]),
    ),
    (
        lambda: metrics.squad_scores([SQUAD], {}),
        "one for each ''",
        lambda: metrics.squad_scores([SQUAD], {"1": ""}),
    ),
    (
        lambda: metrics.squad_scores([SQUAD], {"1": ""}, null_threshold=0.5),
        "null_odds",
        lambda: metrics.squad_scores([SQUAD], {"1": ""}, {"1": 0.1}, null_threshold=0.5),
    ),
    (
        lambda: readers.read_conll(written("a B-PER\nb LOC\n")),
        "scheme=None",
        lambda: readers.read_conll(written("a B-PER\nb LOC\n"), scheme=None),
    ),
    (
        lambda: readers.read_conll(written(MIXED)),
        "repair=True",
        lambda: readers.read_conll(written(MIXED), repair=True),
    ),
    (
        lambda: readers.read_conll(written("\xe4 O\n", "cp1252")),
        'encoding="cp1252"',
        lambda: readers.read_conll(written("\xe4 O\n", "cp1252"), encoding="cp1252"),
    ),
]

LONGER = [  # rows that trace, save or quantize
    (
        lambda: fit(slices(X).map(lambda text: (INPUTS, tf.py_function(len, [text], tf.int32)))),
        "tf.ensure_shape(labels, [None])",
        lambda: fit(slices((INPUTS, N)).batch(2).map(lambda x, y: (x, tf.ensure_shape(y, [None])))),
    ),
    (
        lambda: fit(slices((INPUTS, N))),
        "Batch a dataset",
        lambda: fit(slices((INPUTS, N)).batch(2)),
    ),
    (
        lambda: tagger().fit(WORDS, TAGS, class_weight={"O": 0.1}),
        "leave it out",
        lambda: tagger().fit(WORDS, TAGS, verbose=0),
    ),
    (
        lambda: task().fit(iter(ROWS), verbose=0),
        "steps_per_epoch compile(AdamW(WarmupLinearDecay(5e-05, warmup_steps, total_steps)))",
        lambda: scheduled().fit(iter(ROWS), steps_per_epoch=2, batch_size=2),
    ),
    (
        lambda: adapted(task()).backbone.freeze(),
        "merge_lora",
        lambda: merged(adapted(task())).backbone.freeze(),
    ),
    (
        lambda: resumed(2),
        "restore(model)",
        lambda: resumed(2, restores=True),
    ),
    (
        lambda: kb.BertBackbone(11, 1, 2, 16, 16, dtype="int8_from_float32"),
        "model.quantize('int8') DTypePolicyMap",
        lambda: encoder().quantize("int8"),
    ),
    (
        lambda: kb.BertEmbedder(encoder(), pooling=None, preprocessor=READER).search("a", X),
        "BertEmbedder.from_preset(folder, pooling=",
        lambda: kb.BertEmbedder.from_preset(saved(embedder()), pooling="max").search("a", X),
    ),
    (
        lambda: pretrainer().export(FOLDER + "/d"),
        "save_to_preset(folder) BertClassifier.from_preset(folder, num_classes=2)",
        lambda: kb.BertClassifier.from_preset(saved(pretrainer()), num_classes=2),
    ),
    (
        lambda: kb.BertEmbedder.from_preset(saved(embedder(layers=[1])), keep_layers=[0]),
        "layers= keep_layers",
        lambda: kb.BertEmbedder.from_preset(
            saved(embedder(layers=[1])), keep_layers=[0], layers=[-1]
        ),
    ),
    (
        lambda: quantized().save_to_hugging_face(FOLDER + "/g"),
        "before quantize()",
        lambda: task().save_to_hugging_face(FOLDER + "/g"),
    ),
    (
        lambda: kb.BertClassifier.from_preset(saved(task()), dtype="int8_from_float32"),
        "model.quantize",
        lambda: kb.BertClassifier.from_preset(saved(task())).quantize("int8"),
    ),
]


LONGER = [pytest.param(row, marks=pytest.mark.slow) for row in LONGER]


@pytest.mark.parametrize("row", ADVICE + LONGER)
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
