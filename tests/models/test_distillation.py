"""Fine-tuning with a teacher: its losses by hand, and what it refuses."""

import keras
import numpy as np
import pytest
from scipy.special import expit, log_softmax, rel_entr, softmax

from keras_bert import (
    Batching,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedderPreprocessor,
    BertTokenizer,
    FineTuning,
    finetune,
)
from keras_bert.finetuning import teaching
from keras_bert.losses import Distillation, InBatchNegatives
from keras_bert.preprocessing.text_rows import LONGEST

T, ALPHA = 3.0, 0.4


@pytest.fixture(scope="module")
def pair(make_backbone, make_case, cases, varied):
    """Makes a student and a teacher of a case; their weights and the teacher's size differ."""

    def make(name):
        others = {} if name == "vectors" else {"dropout": 0.0}
        student, teacher = (
            make_case(name, make_backbone(dropout=0.0, num_layers=layers), **others)
            for layers in (1, 2)
        )
        return student, varied(teacher)

    return make


@pytest.fixture
def first_loss(eager_compile, tmp_path_factory):
    def call(student, teacher, x, y=None):
        """Fine-tunes for a step that changes nothing; returns the loss."""
        train, history = (x,) if y is None else (x, y), keras.callbacks.History()
        settings = FineTuning(1, learning_rate=0.0, temperature=T, alpha=ALPHA, select="none")
        run = {"batching": Batching(64), "callbacks": [history], "teacher": teacher}
        output = tmp_path_factory.mktemp("run")
        finetune(student, train, train, output, settings, scores=lambda *_: {"none": 0.0}, **run)
        return history.history["loss"][0]

    return call


def of_classes(teacher, student, labels):
    soft, hard = (softmax(logits / T, axis=-1) for logits in (teacher, student))
    distance = T**2 * rel_entr(soft, hard).sum(axis=-1)
    right = np.take_along_axis(log_softmax(student, axis=-1), labels[..., None], axis=-1)
    return ALPHA * distance - (1 - ALPHA) * right[..., 0]


def of_numbers(teacher, student, labels):
    labels = np.reshape(labels, teacher.shape)
    squares = ALPHA * (teacher - student) ** 2 + (1 - ALPHA) * (labels - student) ** 2
    return np.mean(squares, axis=-1)


def of_relevance(teacher, student, labels):
    soft, hard = expit(teacher / T), expit(student / T)
    distance = T**2 * (rel_entr(soft, hard) + rel_entr(1 - soft, 1 - hard))
    cross_entropy = np.logaddexp(0, student) - np.reshape(labels, student.shape) * student
    return np.mean(ALPHA * distance + (1 - ALPHA) * cross_entropy, axis=-1)


def by_hand(student, teacher, x, y, reference):
    """The loss of a batch of all examples."""
    [batch] = student.batches(x, y, batching=Batching(64, pad_to="longest"))
    inputs, labels, weights = (*batch, None)[:3]
    outputs = [task.predict_on_batch(inputs) for task in (teacher, student)]
    theirs, logits = keras.tree.map_structure(np.float64, outputs)
    if not isinstance(theirs, dict):
        return np.average(reference(theirs, logits, labels), weights=weights)
    is_token = inputs["padding_mask"] == 1
    theirs = {name: np.where(is_token, each, -1e9) for name, each in theirs.items()}
    return np.mean([reference(theirs[name], logits[name], labels[name]) for name in labels])


def test_outputs_follow_the_teacher_and_the_labels(pair, cases, first_loss, assert_close):
    for name, reference in (
        ("classes", of_classes),
        ("tags", of_classes),
        ("questions", of_classes),
        ("score", of_numbers),
        ("labels", of_relevance),
    ):
        student, teacher = pair(name)
        x, y = cases[name][1:3]
        expected = by_hand(student, teacher, x, y, reference)
        assert_close(first_loss(student, teacher, x, y), expected, size=1.0, name=name)


def test_an_embedder_learns_vectors_of_texts_without_labels(pair, first_loss, assert_close):
    student, teacher = pair("vectors")
    pairs = ["a b", "c", "d e f"], ["c", "g h", "i"]
    texts = ["a b", "c", "d e f", "g h", "i"]  # each once
    ours, theirs = (task.predict(texts) for task in (student, teacher))
    assert_close(first_loss(student, teacher, pairs), np.mean((theirs - ours) ** 2), size=1.0)
    assert student.evaluate(pairs) > 0  # by its own loss again


def test_prompts_of_queries_and_documents_are_taught(letters):
    prompts = {"query": "q ", "document": "d "}
    reader = BertEmbedderPreprocessor(letters, 12, prompts=prompts)
    for x, expected in (((["a", "b"], ["b", "b"]), ["q a", "q b", "d b"]), (["a"], ["a"])):
        rows = teaching.rows_of_texts(reader, x).batch(np.arange(len(expected)), LONGEST)[0]
        assert [text.split()[1:-1] for text in letters.detokenize(rows["token_ids"])] == [
            text.split() for text in expected
        ]


def test_its_loss_is_saved():
    loss = Distillation(keras.losses.BinaryCrossentropy(from_logits=True), T, ALPHA)
    copy = keras.losses.deserialize(keras.losses.serialize(loss))
    assert type(copy) is Distillation and copy.get_config() == loss.get_config()


def test_what_cannot_teach_says_why(pair, cases, make_backbone, letters, tmp_path, refused):
    student, teacher = pair("classes")
    reader, few = teacher.preprocessor, make_backbone(max_sequence_length=8)
    short = BertClassifier(few, 3, reader.like(reader, sequence_length=8))
    own = FineTuning(loss=lambda y, outputs: 0 * outputs)
    data = cases["classes"][1:3]
    for message, teacher_given, *settings in (
        ("must be another BertClassifier; got BertTokenClassifier", pair("tags")[1]),
        ("must be another BertClassifier", student),
        ("rows of 12 tokens, and the teacher has 8 positions", short),
        ("which a function may not expect", teacher, own),
    ):
        run = tmp_path / "run", *settings
        refused(message, finetune, student, data, data, *run, teacher=teacher_given)
    words = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "b", "a"])
    cased = BertTokenizer(letters.get_vocabulary(), lowercase=False)
    for message, tokenizer, changed in (
        ("another list of classes: .*'x', 'y'", letters, {"label_names": ["x", "y", "z"]}),
        ("another kind of labels: .*multi_label.: True", letters, {"multi_label": True}),
        ("another vocabulary: ", words, {}),
        ("other? settings of its tokenizer: .*False", cased, {}),
    ):
        names = {"label_names": reader.label_names, **changed}
        teacher.preprocessor = BertClassifierPreprocessor(tokenizer, 12, **names)
        refused(message, finetune, student, data, data, tmp_path / "run", teacher=teacher)
    student, teacher = pair("vectors")
    pairs, of_pairs = (["a", "b"], ["c", "d"]), FineTuning(loss=InBatchNegatives())
    run = (pairs,), (pairs,), tmp_path / "run", of_pairs
    refused("give no loss that compares texts", finetune, student, *run, teacher=teacher)
    for name, value in {"temperature": 0, "alpha": 1.5}.items():
        refused(name, FineTuning, **{name: value})
    loss = Distillation("sparse_categorical_crossentropy")
    refused("takes probabilities", short.compile, loss=loss)
    assert not (tmp_path / "run").exists()
