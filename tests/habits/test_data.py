"""Data in the forms in which users have them is read as lists are, or refused by name."""

import functools
import json

import numpy as np
import pandas as pd
import pytest

from keras_bert import Batching, BertClassifier, BertSpanLabeler
from keras_bert.readers import read_squad
from tests.habits.conftest import LABELS, NAMED, NAMES, PLAIN, TEXTS, WEIGHTS, Rows
from tests.pairs.examples import BatchList, Iterable
from tests.pairs.factors import PLAIN as PLAIN_RUN
from tests.pairs.models import make_model

TABLE = pd.DataFrame({"text": TEXTS, "label": NAMED})
CATEGORIES = TABLE.astype("category")
MISSING = TABLE.copy()
MISSING.loc[3] = np.nan
SHUFFLED = MISSING.dropna().sample(frac=1, random_state=4)
EXAMPLES = list(zip(TEXTS, LABELS, strict=True))
ROWS = Rows({"text": text, "label": label} for text, label in EXAMPLES)


def batches_of_arrays():
    for start in (0, 4):
        rows = slice(start, start + 4)
        yield np.array(TEXTS[rows]), np.array(LABELS[rows])


FORMS = {
    "bytes of NumPy": np.array([TEXTS, NAMED], dtype="S"),
    "strings of NumPy": np.array([TEXTS, NAMED], dtype=np.dtypes.StringDType()),
    "booleans": (np.array(TEXTS), np.array(LABELS) == 1),
    "a table": (TABLE,),
    "tables of one column": (TABLE[["text"]], TABLE[["label"]]),
    "categories": (CATEGORIES["text"], CATEGORIES["label"]),
    "nullable integers": (TABLE["text"], pd.Series(LABELS, dtype="Int64")),
    "columns of a data set": (ROWS["text"], ROWS["label"]),
    "tuples of a table": (TABLE.itertuples(index=False),),
    "batches of a generator": (batches_of_arrays(),),
    "batches of a PyDataset": (BatchList([*batches_of_arrays()]),),
}


def test_each_form_is_read_as_lists(reads_as_lists):
    for name, data in FORMS.items():
        reads_as_lists(*data, name=name)
    reads_as_lists(SHUFFLED["text"], SHUFFLED["label"], rows=SHUFFLED.index)


def test_each_form_of_weights_is_read_as_a_list(reads_as_lists):
    column = [[weight] for weight in WEIGHTS]
    for form in (tuple(WEIGHTS), pd.Series(WEIGHTS), pd.DataFrame(column), column):
        reads_as_lists(TEXTS, LABELS, form, weights=WEIGHTS)
    reads_as_lists(iter(ROWS), None, WEIGHTS, weights=WEIGHTS)
    mask = np.array(WEIGHTS) > 0
    reads_as_lists(TEXTS, LABELS, mask, weights=mask.astype(float))


def test_each_dataset_is_read_as_lists(tf, dataset, preset, reads_as_lists):
    data, rows = tf.data.Dataset, list(zip(TEXTS, NAMED, strict=True))
    reader = BertClassifier.from_preset(preset).preprocessor
    column = np.float32(LABELS)[:, None]
    datasets = {
        "of unknown shapes": data.from_generator(lambda: iter(rows), (tf.string, tf.string)),
        "of dicts and columns": data.from_tensor_slices(({"text": TEXTS}, column)).batch(4),
        "of prepared inputs": dataset.batch(4).map(lambda x, y: (reader(x), y)),
    }
    for name, each in datasets.items():
        reads_as_lists(each, name=name)
    reads_as_lists(TEXTS, tf.constant(LABELS))
    longer = dataset.filter(lambda x, y: tf.strings.length(x) > 1).batch(4)
    reads_as_lists(longer, rows=[0, 2, 3, 4, 6, 7])


class Unsized(Iterable):
    """Can be indexed, but has no length."""

    def __getitem__(self, index):
        return self.rows[index]


def test_each_loader_is_read_as_lists(torch, reads_as_lists):
    rows, loading = list(zip(TEXTS, NAMED, strict=True)), torch.utils.data

    class Stream(loading.IterableDataset):
        def __iter__(self):
            return iter(EXAMPLES)

    def columns(rows):
        return tuple(map(list, zip(*rows, strict=True)))

    def by_name(rows):
        return dict(zip(("text", "label"), columns(rows), strict=True))

    for collate in (functools.partial(list), columns, by_name):
        reads_as_lists(loading.DataLoader(rows, batch_size=4, collate_fn=collate))
    reads_as_lists(loading.DataLoader(Stream(), batch_size=4))
    for form in (loading.DataLoader(rows, batch_size=None), Unsized(rows)):
        reads_as_lists(form)
    reads_as_lists(TEXTS, torch.tensor(LABELS))


def test_batches_of_grain_are_read_as_lists(reads_as_lists):
    grain = pytest.importorskip("grain", reason="grain is not installed")
    source = grain.MapDataset.source(EXAMPLES)
    for form in (source.batch(4), source.to_iter_dataset().batch(4)):
        reads_as_lists(form)


def arrow(rows):
    reason = 'pip install ".[parquet]"'
    return pytest.importorskip("pyarrow", reason=reason).Table.from_pylist(rows)


def test_tables_and_columns_of_arrow_are_read_as_lists(reads_as_lists, compiled):
    table = arrow(list(ROWS))
    reads_as_lists(table)
    reads_as_lists(table["text"], table["label"])
    texts, labels = (table[name].combine_chunks() for name in ("text", "label"))
    reads_as_lists(
        {"text": texts}, labels, arrow([{"w": w} for w in WEIGHTS])["w"], weights=WEIGHTS
    )
    assert compiled.class_counts(labels) == {"no": 3, "yes": 5}
    assert len(compiled.answer(table)) == 8


def test_prepared_inputs_train_as_texts(sgd_model, plain, trained_as, reads_as_lists):
    batching = Batching(4, shuffle=False, pad_to="full")
    reads_as_lists(sgd_model.batches(TEXTS, LABELS, batching=batching))
    inputs = sgd_model.preprocessor(TEXTS)
    trained_as(sgd_model, sgd_model.fit(inputs, np.array(LABELS), **PLAIN), plain())


# What is refused: what the message names, x, perhaps y, perhaps weights
REFUSED = [
    ("Text 3", MISSING["text"], LABELS),
    ("(?i)label.*nan", TEXTS, pd.Series([*LABELS[:7], np.nan])),
    ("(?i)label.*NA", TEXTS, pd.Series([*LABELS[:7], pd.NA], dtype="Int64")),
    ("pass y", TEXTS),
    ("pass y", list(zip(TEXTS, NAMED, strict=True))),  # pairs of texts, it seems
    (r"pass y, .* or a dataset of \(text, label\)", {"train": ROWS, "test": ROWS}),
    ("several data sets, train: give one", type("DatasetDict", (dict,), {})(train=ROWS)),
    ("list of tuples, or a tuple of two columns", tuple(TEXTS), LABELS),
    ("takes raw examples", batches_of_arrays),  # isn't called
    ("Batches of a generator are arrays", (batch for batch in [(TEXTS, LABELS)])),
    ("hold their labels: leave y out", list(ROWS), LABELS),
    (r"yield \(text, label\).*leave y and sample_weight out", Iterable(EXAMPLES), LABELS),
    ("leave y and sample_weight out", Iterable(EXAMPLES), None, WEIGHTS),
]


def test_what_cannot_be_read_is_refused(compiled, refused):
    for message, *data in REFUSED:
        x, y, weights = (*data, None, None)[:3]
        refused(message, compiled.fit, x, y, sample_weight=weights)


def test_datasets_that_cannot_be_read_are_refused(tf, compiled, dataset, refused):
    columns = tf.data.Dataset.from_tensor_slices({"a": TEXTS, "b": NAMED})
    refused("columns a, b don't say which are the texts", compiled.fit, columns)
    for empty in (
        dataset.take(0),
        dataset.filter(lambda x, y: False),
    ):  # of a length, and without
        refused("no examples", compiled.fit, empty.batch(4))


# Other tasks


@pytest.fixture(scope="module")
def task_of():
    return functools.cache(lambda name: make_model({**PLAIN_RUN, "task": name}))


WIDTHS = (np.arange(16).reshape(8, 2) / 4).tolist()
SCORES = pd.DataFrame({"score": np.arange(8) / 4})
WORDS = [["a", "b"], ["c"], ["d", "e", "f"]]
TAGS = [["O", "B-X"], ["B-X"], ["O", "O", "B-X"]]
NUMBERS = [[int(tag == "B-X") for tag in tags] for tags in TAGS]
QUESTION = {"question": "a b", "context": "c d e"}
QUESTIONS = [{**QUESTION, "answers": [{"text": "d", "answer_start": 2}]}]
OTHER_ANSWERS = (
    {"text": ["d"], "answer_start": [2]},
    {"text": np.array(["d"]), "answer_start": np.array([2.0])},
    [{"text": "d", "answer_start": 2.0}],
)


def rows_with(**columns):
    """Returns rows of a data set, a dict each."""
    return pd.DataFrame(columns).to_dict("records")


OF_TASKS = [  # the task, lists, and other forms
    (
        "features",
        ({"text": TEXTS, "features": WIDTHS}, LABELS),
        (rows_with(text=TEXTS, features=WIDTHS, label=LABELS),),
        ({"text": TABLE["text"], "features": pd.DataFrame(WIDTHS)}, LABELS),
    ),
    (
        "regression",
        (TEXTS, SCORES["score"].tolist()),
        (TABLE["text"], SCORES["score"]),
        (TABLE["text"], SCORES),
    ),
    (
        "tags",
        (WORDS, TAGS),
        (pd.Series(WORDS), pd.Series(TAGS)),
        (WORDS, NUMBERS),
        (rows_with(tokens=WORDS, ner_tags=NUMBERS, id="7"),),
    ),
    (
        "spans",
        (QUESTIONS,),
        (Rows(QUESTIONS),),
        (pd.DataFrame(QUESTIONS),),
        *(([{**QUESTION, "answers": answers, "id": 1}],) for answers in OTHER_ANSWERS),
    ),
    (
        "embedder of scores",
        ((["a", "b"], ["c", "d"]), [0.0, 0.5]),
        (rows_with(sentence1=["a", "b"], sentence2=["c", "d"], score=[0.0, 0.5]),),
    ),
]
PAIRS = rows_with(premise=["a", "b"], hypothesis=["c", "d"], gold_label=NAMES, idx="7")
OF_TASKS.append(
    (
        "binary",
        ((["a", "b"], ["c", "d"]), NAMES),
        (PAIRS,),
        (iter(PAIRS),),
        (pd.DataFrame(PAIRS),),
    )
)


def test_each_form_of_a_task_is_read_as_lists(task_of, assert_close):
    batching = Batching(8, shuffle=False)
    for name, lists, *others in OF_TASKS:
        expected = [*task_of(name).batches(*lists, batching=batching)]
        for data in others:
            assert_close([*task_of(name).batches(*data, batching=batching)], expected, name=name)


def test_the_label_of_a_row_is_not_an_input(compiled):
    assert compiled.answer({"text": "a b", "label": "no"}) == compiled.answer("a b")


def test_a_question_that_lists_no_answers_has_none(task_of):
    model = task_of("spans")
    reader = model.preprocessor.like(model.preprocessor, null_threshold=-1e9)
    questions = [{**QUESTIONS[0], "id": "1"}, {**QUESTION, "id": "2", "answers": []}]
    scores = BertSpanLabeler(model.backbone, preprocessor=reader).scores(questions)
    assert scores["NoAns_exact"] == 100.0


def test_damaged_columns_of_answers_are_refused(task_of, write, refused):
    for start in (None, [float("nan")], [1, 2], "2", 3):
        row = {**QUESTION, "id": "1", "answers": {"text": ["d"], "answer_start": start}}
        refused("Answers must be a list of dicts|answers", task_of("spans").batches, [row])
        refused("answer", read_squad, write(json.dumps([row]), "a.json"))


def test_words_without_a_label_neither_train_nor_count(task_of, tmp_path):
    tagger, words, tags = task_of("tags"), [["a", "b", "c"]], [[1, -100, 0]]
    [(_, labels, weights)] = tagger.batches(words, tags)
    assert weights[0, 1:4].tolist() == [1, 0, 1] and labels[0, 1:4].tolist() == [1, 0, 0]
    [answer] = tagger.answer(words)
    right = (answer["label"][0] == "B-X") + (answer["label"][2] == "O")
    assert tagger.scores(words, tags)["accuracy"] == right / 2
    tagger.scorer.write(tmp_path, "dev", [answer], words, tags)
