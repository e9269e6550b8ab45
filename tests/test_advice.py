"""A wrong call names what to write instead, where no other test sees its message."""

import keras
import pytest

import keras_bert as kb
from keras_bert import callbacks, losses, metrics

if keras.backend.backend() != "tensorflow":
    pytest.skip("messages are the same on all backends", allow_module_level=True)

X, Y = ["a b", "c", "d e", "f"], ["no", "yes", "yes", "no"]
SEVERAL = [["no"], ["no", "yes"], [], ["no"]]


@pytest.fixture
def make(make_backbone, letters):
    """Makes a tiny task, with settings of its preprocessor."""

    def make(kind="Classifier", **settings):
        task_class = getattr(kb, f"Bert{kind}")
        reader = task_class.preprocessor_class()(letters, 12, **settings)
        return task_class(make_backbone(), preprocessor=reader)

    return make


@pytest.fixture
def model(make):
    return make(label_names=["no", "yes"])


def corpus(**settings):
    with open("a.txt", "w") as file:
        file.write("a b c.\nd e.\n")
    words = kb.BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcde"])
    return kb.prepare_corpus(["a.txt"], "corpus", words, progress=False, num_workers=1, **settings)


def thawed(model):
    model.backbone.trainable = False
    model.compile("sgd", run_eagerly=True)
    model.fit(X, Y, verbose=0)
    model.backbone.unfreeze()
    return model


OF_TASKS = [
    (lambda model: model.fit(X, Y, validation_data=[X, Y]), "(x, y)"),
    (lambda model: model.batches(X, SEVERAL), "multi_label=True"),
    (lambda model: model.compile(learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (lambda model: model.fit(X, Y, learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (lambda model: thawed(model).fit(X, Y), "Compile optimizer"),
    (lambda model: model.label_names, "preprocessor.label_names"),
    (lambda model: model.answer("a", threshold=0.3), "model.preprocessor.like( threshold="),
    (
        lambda model: kb.BertClassifier(model.backbone, 2, sequence_length=12),
        "BertClassifierPreprocessor(tokenizer",
    ),
    (lambda model: kb.BertPretrainer(model.backbone, masked_lm_activation=len), "activation name"),
]
OTHERS = [
    (lambda: kb.BertClassifier(num_classes=2), "BertBackbone BertClassifier.from_preset(source"),
    (lambda: losses.WeightedBinaryCrossentropy(iter([])), "pos_weight list"),
    (lambda: kb.TrainingCheckpoint(None), "folder Path None"),
    (lambda: callbacks.Throughput("x"), "tokens_per_step"),
    (lambda: corpus(seed={1}), "seed integer"),
    (
        lambda: kb.pretraining_dataset(corpus(), batch_size=1, sequence_length=8),
        "document_separator next_sentence=False",
    ),
    (lambda: metrics.retrieval_scores([1], [2]), "relevance query document"),
]


def check(named, call, *arguments):
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        call(*arguments)
    assert [part for part in named.split() if part not in str(caught.value)] == []


def test_a_wrong_call_of_a_task_names_the_right_one(model, make):
    for call, named in OF_TASKS:
        check(named, call, model)
    check("label_names=['no', 'yes']", make(label_names=["0", "1"]).batches, X, Y)
    check("pairs scores labels", make("Embedder").batches, X)


def test_other_wrong_calls_name_the_right_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call, named in OTHERS:
        check(named, call)
