"""Fine-tuning with a teacher: its losses by hand, and what it refuses."""

import keras
import numpy as np
import pytest
from scipy.special import expit, rel_entr, softmax

from keras_bert import (
    Batching,
    BertClassifier,
    BertClassifierPreprocessor,
    BertTokenizer,
    FineTuning,
    finetune,
)
from keras_bert.finetuning.teaching import rows_of_texts
from keras_bert.losses import Distillation, InBatchNegatives
from tests.marks import slow
from tests.models.test_every_task import FORMULAS

T, ALPHA = 3.0, 0.4


@pytest.fixture(scope="module")
def pair(make_backbone, make_case, varied):
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
        finetune(
            student,
            train,
            train,
            output,
            settings,
            scores=lambda *_: {"none": 0.0},
            **run,
        )
        return history.history["loss"][0]

    return call


def between_classes(teacher, student):
    soft, hard = (softmax(logits / T, axis=-1) for logits in (teacher, student))
    return T**2 * rel_entr(soft, hard).sum(axis=-1)


def between_labels(teacher, student):
    soft, hard = teacher / T, student / T
    return T**2 * (rel_entr(expit(soft), expit(hard)) + rel_entr(expit(-soft), expit(-hard)))


def between_numbers(teacher, student):
    return (teacher - student)[:, 0] ** 2


def by_hand(student, teacher, x, y, distance, loss):
    """The loss of a batch of all examples."""
    [batch] = student.batches(x, y, batching=Batching(64, pad_to="longest"))
    inputs, labels, weights = (*batch, None)[:3]
    outputs = [task.predict_on_batch(inputs) for task in (teacher, student)]
    theirs, logits = keras.tree.map_structure(np.float64, outputs)
    parts = [(theirs, logits, labels)]
    if isinstance(theirs, dict):
        past_end = inputs["padding_mask"] == 0
        parts = [(np.where(past_end, -1e9, theirs[n]), logits[n], labels[n]) for n in labels]
    losses = [ALPHA * distance(t, s) + (1 - ALPHA) * loss(s, np.array(y))[0] for t, s, y in parts]
    return np.mean([np.average(each, weights=weights) for each in losses])


def test_a_loss_of_labels_and_its_copy_are_their_formula():
    teacher, logits = np.random.default_rng(1).normal(size=(2, 4, 3))
    loss = Distillation(keras.losses.BinaryCrossentropy(from_logits=True), T, ALPHA)
    hard, _ = FORMULAS["labels"](logits, np.eye(4, 3))
    expected = np.mean(ALPHA * between_labels(teacher, logits) + (1 - ALPHA) * hard)
    copied = keras.saving.serialize_keras_object(loss)
    y = np.concatenate([teacher, np.eye(4, 3)], axis=-1)
    for each in (loss, keras.saving.deserialize_keras_object(copied)):
        assert float(each(y, logits)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "name, distance",
    [
        ("classes", between_classes),
        slow("tags", between_classes),
        ("questions", between_classes),
        slow("score", between_numbers),
        slow("labels", between_labels),
    ],
)
def test_outputs_follow_the_teacher_and_the_labels(
    name, distance, pair, cases, first_loss, assert_close
):
    student, teacher = pair(name)
    x, y = cases[name][1:3]
    expected = by_hand(student, teacher, x, y, distance, FORMULAS[name])
    assert_close(first_loss(student, teacher, x, y), expected, size=1.0)


def test_an_embedder_learns_vectors_of_texts_with_prompts_and_without_labels(
    pair, first_loss, assert_close
):
    student, teacher = pair("vectors")
    pairs = ["a b", "c", "d e f"], ["c", "g h", "i"]
    texts = ["q a b", "q c", "q d e f", "d c", "d g h", "d i"]
    ours, theirs = (task.predict(texts) for task in (student, teacher))
    prompts = {"query": "q ", "document": "d "}
    reader = student.preprocessor
    student.preprocessor = reader.like(reader, prompts=prompts)
    assert_close(first_loss(student, teacher, pairs), np.mean((theirs - ours) ** 2), size=1.0)
    assert student.evaluate(pairs) > 0  # by its own loss again
    prompted = reader.like(reader, prompts=prompts, default_prompt_name="query")
    assert rows_of_texts(prompted, ["a b", "c", "a b"]).num_tokens().tolist() == [5, 4]


def test_what_cannot_teach_says_why(pair, cases, make_backbone, letters, tmp_path, refused):
    embedder, other = pair("vectors")
    student, teacher = pair("classes")
    reader, few = teacher.preprocessor, make_backbone(max_sequence_length=8)
    short = tmp_path / "short"
    BertClassifier(few, 3, reader.like(reader, sequence_length=8)).save_to_preset(short)
    losses = (lambda y, outputs: 0 * outputs), InBatchNegatives()
    own, in_batch = (FineTuning(loss=loss) for loss in losses)
    data, pairs = cases["classes"][1:3], (["a", "b"], ["c", "d"])
    for message, taught, examples, teacher_given, *settings in (
        ("must be another BertClassifier; got BertEmbedder", student, data, embedder),
        ("must be another BertClassifier", student, data, student),
        ("rows of 12 tokens, and the teacher has 8 positions", student, data, short),
        ("which a function may not expect", student, data, teacher, own),
        ("give no loss that compares texts", embedder, (pairs,), other, in_batch),
    ):
        run = examples, examples, tmp_path / "run", *settings
        refused(message, finetune, taught, *run, teacher=teacher_given)
    words = BertTokenizer("[PAD] [UNK] [CLS] [SEP] [MASK] b a".split())
    cased = BertTokenizer(letters.get_vocabulary(), lowercase=False)
    for message, tokenizer, changed in (
        (
            "another list of classes: .*'x', 'y'",
            letters,
            {"label_names": ["x", "y", "z"]},
        ),
        ("another kind of labels: .*multi_label.: True", letters, {"multi_label": True}),
        ("another vocabulary: ", words, {}),
        ("other? settings of its tokenizer: .*False", cased, {}),
    ):
        names = {"label_names": ["0", "1", "2"], **changed}
        teacher.preprocessor = BertClassifierPreprocessor(tokenizer, 12, **names)
        refused(message, finetune, student, data, data, tmp_path / "run", teacher=teacher)
    for name, value in {"temperature": 0, "alpha": 1.5}.items():
        refused(name, FineTuning, **{name: value})
    loss = Distillation("sparse_categorical_crossentropy")
    refused("takes probabilities", student.compile, loss=loss)
    assert not (tmp_path / "run").exists()
