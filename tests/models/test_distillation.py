"""Fine-tuning with a teacher: its losses by hand, and what it refuses."""

import keras
import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp

import keras_bert
from keras_bert import Batching, FineTuning, finetune
from keras_bert.finetuning import teaching
from keras_bert.losses import Distillation
from keras_bert.preprocessing.text_rows import LONGEST

T, ALPHA = 3.0, 0.4
DROPOUTS = ("BertClassifier", "BertTokenClassifier", "BertMultipleChoice", "BertReranker")


@pytest.fixture(scope="module")
def pair(make_backbone, make_case, cases, varied):
    """Makes a student and a teacher of a case; their weights and the teacher's size differ."""

    def make(name, **arguments):
        others = {"dropout": 0.0} if cases[name][0] in DROPOUTS else {}
        student, teacher = (
            make_case(name, make_backbone(dropout=0.0, num_layers=layers, **arguments), **others)
            for layers in (1, 2)
        )
        for task in (student, teacher):
            if name == "features":
                task.adapt_features(cases[name][1]["features"])
        return student, varied(teacher)

    return make


@pytest.fixture
def first_loss(eager_compile):
    def call(student, teacher, x, y, output, **options):
        """Fine-tunes for a step that changes nothing; returns the loss."""
        losses, train = [], (x,) if y is None else (x, y)
        keep = keras.callbacks.LambdaCallback(
            on_epoch_end=lambda _, logs: losses.append(logs["loss"])
        )
        run = {"batching": Batching(64), "callbacks": [keep], "teacher": teacher, **options}
        settings = {"temperature": T, "alpha": ALPHA, "select": "none", "learning_rate": 0.0}
        settings = FineTuning(epochs=1, **settings)
        finetune(student, train, train, output, settings, scores=lambda *_: {"none": 0.0}, **run)
        return losses[0]

    return call


def outputs(task, x):
    """Outputs of prepared rows."""
    batching = Batching(64, pad_to="longest")
    [inputs] = task.preprocessor.batches(x, batching=batching, with_labels=False)
    return task.predict_on_batch(inputs)


def of_classes(teacher, student, labels):
    soft, hard = (log_softmax(logits / T, axis=-1) for logits in (teacher, student))
    distance = T**2 * np.sum(np.exp(soft) * (soft - hard), axis=-1)
    right = np.take_along_axis(student, np.asarray(labels)[..., None], axis=-1)[..., 0]
    return ALPHA * distance + (1 - ALPHA) * (logsumexp(student, axis=-1) - right)


def of_numbers(teacher, student, labels):
    labels = np.reshape(labels, teacher.shape)
    squares = ALPHA * (teacher - student) ** 2 + (1 - ALPHA) * (labels - student) ** 2
    return np.mean(squares, axis=-1)


def of_relevance(teacher, student, labels):
    labels = np.reshape(labels, teacher.shape)

    def cross_entropy(truth, logits):
        probabilities = expit(logits.astype("float64"))
        return -(truth * np.log(probabilities) + (1 - truth) * np.log1p(-probabilities))

    truth = expit(teacher.astype("float64") / T)
    distance = cross_entropy(truth, student / T) - cross_entropy(truth, teacher / T)
    return np.mean(ALPHA * T**2 * distance + (1 - ALPHA) * cross_entropy(labels, student), axis=-1)


def by_hand(student, teacher, x, y, reference):
    """The loss of a batch of all examples."""
    [batch] = student.batches(x, y, batching=Batching(64, pad_to="longest"))
    inputs, labels, *weights = batch
    theirs, logits = (task.predict_on_batch(inputs) for task in (teacher, student))
    if not isinstance(theirs, dict):
        return np.average(reference(theirs, logits, labels), weights=(weights or [None])[0])
    is_token = inputs["padding_mask"] == 1
    theirs = {name: np.where(is_token, each, -1e9) for name, each in theirs.items()}
    return np.mean([reference(theirs[name], logits[name], labels[name]) for name in labels])


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("classes", of_classes),
        ("tags", of_classes),
        ("questions", of_classes),
        ("score", of_numbers),
        ("labels", of_relevance),
    ],
)
def test_outputs_follow_the_teacher_and_the_labels(
    pair, cases, name, reference, first_loss, tmp_path, assert_close
):
    student, teacher = pair(name)
    x, y = cases[name][1:3]
    expected = by_hand(student, teacher, x, y, reference)
    loss = first_loss(student, teacher, x, y, tmp_path, batching=Batching(64))
    assert_close(loss, expected, size=1.0)


def test_an_embedder_learns_vectors_of_texts_without_labels(
    pair, first_loss, tmp_path, assert_close
):
    student, teacher = pair("vectors")
    texts, others = ["a b", "c", "d e f"], ["c", "g h", "i"]
    x = ["a b", "c", "d e f", "g h", "i"]  # each once
    vectors = [outputs(task, x) for task in (teacher, student)]
    loss = first_loss(student, teacher, (texts, others), None, tmp_path)
    assert_close(loss, np.mean((vectors[0] - vectors[1]) ** 2), size=1.0)
    assert student.evaluate((texts, others), verbose=0) > 0  # by its own loss again


def test_prompts_of_queries_and_documents_are_taught(letters):
    prompts = {"query": "q ", "document": "d "}
    reader = keras_bert.BertEmbedderPreprocessor(letters, 12, prompts=prompts)
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

    def check(message, teacher, model=student, data=cases["classes"][1:3], loss=None):
        options = {"settings": FineTuning(loss=loss), "teacher": teacher}
        refused(message, finetune, model, data, data, tmp_path / "run", **options)

    def other(names=("0", "1", "2"), tokenizer=letters, **settings):
        reader = keras_bert.BertClassifierPreprocessor(tokenizer, 12, label_names=names, **settings)
        return keras_bert.BertClassifier(make_backbone(), preprocessor=reader)

    check("must be another BertClassifier; got BertTokenClassifier", pair("tags")[1])
    check("must be another BertClassifier", student)
    check("another list of classes: .*'x', 'y'", other(("x", "y", "z")))
    check("another kind of labels: .*multi_label.: True", other(multi_label=True))
    words = keras_bert.BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "b", "a"])
    check("another vocabulary: ", other(tokenizer=words))
    cased = keras_bert.BertTokenizer(letters.get_vocabulary(), lowercase=False)
    check("other? settings of its tokenizer: .*False", other(tokenizer=cased))
    check("which a function may not expect", teacher, loss=lambda y, outputs: 0 * outputs)
    vectors, pairs = pair("vectors"), ((["a", "b"], ["c", "d"]),)
    of_pairs = {"model": vectors[0], "data": pairs, "loss": keras_bert.losses.InBatchNegatives()}
    check("give no loss that compares texts", vectors[1], **of_pairs)
    teacher.preprocessor = None
    check("needs a preprocessor", teacher)
    short = keras_bert.BertClassifierPreprocessor(letters, 8)
    teacher = keras_bert.BertClassifier(make_backbone(max_sequence_length=8), 3, short)
    check("rows of 12 tokens, and the teacher has 8 positions", teacher)
    for name, value in {"temperature": 0, "alpha": 1.5}.items():
        refused(name, FineTuning, **{name: value})
    loss = Distillation("sparse_categorical_crossentropy")
    refused("takes probabilities", student.compile, loss=loss)
    assert not (tmp_path / "run").exists()
