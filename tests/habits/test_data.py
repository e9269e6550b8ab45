"""Texts in memory, labels, weights and validation data in the forms in which users have them."""

import keras
import numpy as np
import pandas as pd
import pytest

from tests.habits.conftest import LABELS, NAMES, PLAIN, TEXTS, WEIGHTS

NAMED = [NAMES[label] for label in LABELS]
TABLE = pd.DataFrame({"text": TEXTS, "label": NAMED})
CATEGORIES = TABLE.astype("category")
FORMS = {
    "bytes of NumPy": np.array([TEXTS, NAMED], dtype="S"),
    "strings of NumPy": np.array([TEXTS, NAMED], dtype=np.dtypes.StringDType()),
    "texts in a column": (np.array(TEXTS)[:, None], LABELS),
    "booleans": (TEXTS, np.array(LABELS) == 1),
    "labels in a column": (TEXTS, np.array(LABELS)[:, None]),
    "labels in lists of one": (TEXTS, [[label] for label in LABELS]),
    "columns of a table": (TABLE["text"], TABLE["label"]),
    "tables of one column": (TABLE[["text"]], TABLE[["label"]]),
    "categories": (CATEGORIES["text"], CATEGORIES["label"]),
    "nullable integers": (TABLE["text"], pd.Series(LABELS, dtype="Int64")),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_as_lists(form, reads_as_lists):
    reads_as_lists(*FORMS[form])


def test_arrays_and_tables_train_as_by_hand(sgd_model, plain, trained_as):
    start = sgd_model.get_weights()
    for data in ((np.array(TEXTS), np.array(LABELS)), (TABLE,)):
        sgd_model.set_weights(start)
        trained_as(sgd_model, sgd_model.fit(*data, **PLAIN), plain())


def test_tensors_as_labels(torch, reads_as_lists):
    reads_as_lists(TEXTS, torch.tensor(LABELS))
    reads_as_lists(TEXTS, keras.ops.convert_to_tensor(LABELS))


def test_rows_of_a_table_are_read_in_their_order(df, reads_as_lists):
    df.loc[3, "text"] = None
    df = df.dropna().sample(frac=1, random_state=4)
    reads_as_lists(df["text"], df["label"], rows=df.index)


# Missing values, wrong labels and examples


def test_missing_values_are_named(sgd_model, df, texts, labels, refused):
    empty = df.copy()
    empty.loc[3] = np.nan
    refused("Text 3", sgd_model.fit, empty["text"], df["label"])
    refused("Text 2 is None", sgd_model.predict, [*texts[:2], None])
    refused("Label 3", sgd_model.fit, df["text"], empty["label"])
    for missing in (
        pd.Series([*labels[:7], np.nan]),
        pd.Series([*labels[:7], pd.NA], dtype="Int64"),
    ):
        refused(r"(?i)label.*(nan|NA)", sgd_model.fit, texts, missing)


def test_texts_need_their_labels(sgd_model, df, texts, labels, refused):
    refused("8.*7|7.*8", sgd_model.fit, texts, labels[:7])
    for x in (texts, df[["text"]], "train.csv"):
        refused("pass y", sgd_model.fit, x)
    refused(r"pass table\['text'\]", sgd_model.fit, df, df["label"])
    refused("y must have a value for each example", sgd_model.fit, "a b", "yes")


def test_other_collections_are_refused(sgd_model, texts, labels, refused):
    refused("list of tuples, or a tuple of two columns", sgd_model.fit, tuple(texts), labels)
    refused("takes raw examples", sgd_model.fit, set(texts), labels)


# Weights


@pytest.mark.parametrize(
    "form", [tuple, np.array, pd.Series, pd.DataFrame, lambda w: [[x] for x in w]]
)
def test_each_form_of_weights_is_read_as_a_list(form, reads_as_lists):
    reads_as_lists(TEXTS, LABELS, form(WEIGHTS), weights=WEIGHTS)


def test_a_mask_is_read_as_weights(reads_as_lists):
    mask = np.array(WEIGHTS) > 0
    reads_as_lists(TEXTS, LABELS, mask, weights=mask.astype(float))


def test_weights_in_a_dict_are_refused(sgd_model, texts, labels, refused):
    refused("sample_weight must have a value for each example", sgd_model.fit, texts, labels,
            sample_weight={0: 1.0, 1: 3.0})  # fmt: skip


# Validation
