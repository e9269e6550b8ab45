import keras
import numpy as np
import pytest

from keras_bert import BertClassifier

TEXTS = ["a b c", "d", "e f g h", "a a a a a a a a a a a a a a", "", "zz b", "x y", "c b a"]
PAIRS = ["b", "c d e", "f", "a a a", "g", "h", "i j k l m n o p", "q"]
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1])


@pytest.fixture
def backbone(make_backbone):
    return make_backbone(num_layers=1)


@pytest.fixture
def model(backbone, preprocessor):
    return BertClassifier(backbone, num_classes=3, preprocessor=preprocessor)


@pytest.fixture
def bare(backbone):
    """A classifier without a preprocessor."""
    return BertClassifier(backbone, num_classes=3)


def test_text_gives_what_its_prepared_inputs_give(model, preprocessor, difference):
    prepared = {name: values.numpy() for name, values in preprocessor(TEXTS).items()}
    assert difference(model.predict(TEXTS, verbose=0), model.predict(prepared, verbose=0)) < 1e-6


def test_short_texts_are_not_padded_like_long_ones(model, monkeypatch):
    lengths = []

    def predict(self, x, **kwargs):
        lengths.extend(inputs["token_ids"].shape[1] for inputs in x.as_numpy_iterator())
        return np.zeros((8, 3))

    monkeypatch.setattr(keras.Model, "predict", predict)
    for trim, expected in ((True, [12, 5, 4, 3]), ([6], [12, 6, 6, 6]), (False, [12] * 4)):
        monkeypatch.setattr(BertClassifier, "_trim", lambda self, trim=trim: trim)
        lengths.clear()
        model.predict(TEXTS, batch_size=2)
        assert lengths == expected


def test_fit_does_not_pad_more_than_a_device_needs(model, monkeypatch):
    shapes = []
    monkeypatch.setattr(keras.Model, "fit", lambda self, x, *_, **__: shapes.append(x.element_spec))
    for trim in (True, False):
        monkeypatch.setattr(BertClassifier, "_trim", lambda self, trim=trim: trim)
        model.fit(TEXTS, LABELS)
    assert [inputs["token_ids"].shape[1] for inputs, _ in shapes] == [None, 12]


def test_every_form_of_texts_gives_the_same(model, randomized, difference):
    tf = pytest.importorskip("tensorflow")
    expected = randomized(model).predict(TEXTS, batch_size=3, verbose=0)
    assert expected.shape == (8, 3)
    forms = {
        "array": np.array(TEXTS),
        "objects": np.array(TEXTS, dtype=object),
        "bytes": [text.encode() for text in TEXTS],
        "tensor": tf.constant(TEXTS),
        "dataset": tf.data.Dataset.from_tensor_slices(TEXTS),
        "batched dataset": tf.data.Dataset.from_tensor_slices(TEXTS).batch(5),
        "labelled dataset": tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)),
    }
    for name, form in forms.items():
        assert difference(expected, model.predict(form, verbose=0)) < 1e-6, name
    assert difference(expected[:1], model.predict(TEXTS[0], verbose=0)) < 1e-6
    assert difference(expected[4:5], model.predict("", verbose=0)) < 1e-6


def test_every_form_of_pairs_gives_the_same(model, randomized, difference):
    tf = pytest.importorskip("tensorflow")
    expected = randomized(model).predict((TEXTS, PAIRS), verbose=0)
    assert difference(expected, model.predict(TEXTS, verbose=0)) > 1e-3
    pairs = list(zip(TEXTS, PAIRS, strict=True))
    forms = {
        "tuple of arrays": (np.array(TEXTS), np.array(PAIRS)),
        "tuple of tensors": (tf.constant(TEXTS), tf.constant(PAIRS)),
        "list of pairs": pairs,
        "array of pairs": np.array(pairs),
        "labelled dataset": tf.data.Dataset.from_tensor_slices(((TEXTS, PAIRS), LABELS)),
        "batched dataset": tf.data.Dataset.from_tensor_slices(((TEXTS, PAIRS), LABELS)).batch(3),
        "dataset": tf.data.Dataset.from_tensor_slices((TEXTS, PAIRS)),
    }
    for name, form in forms.items():
        assert difference(expected, model.predict(form, verbose=0)) < 1e-6, name


def test_fit_learns_from_text_without_a_compile(model):
    history = model.fit(
        TEXTS, LABELS, batch_size=4, epochs=2, validation_data=(TEXTS, LABELS), verbose=0
    ).history
    assert set(history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert int(model.optimizer.iterations) == 4
    assert model.optimizer.name == "adamw"


def test_fit_takes_pairs_and_weights(model):
    model.compile(**{**model.default_compile_args(), "optimizer": keras.optimizers.Adam(0.01)})
    weights = np.array([1.0, 0, 1, 0, 1, 0, 1, 0])
    history = model.fit(
        (TEXTS, PAIRS), LABELS, sample_weight=weights, batch_size=8, epochs=6, verbose=0
    ).history
    assert history["loss"][-1] < history["loss"][0]
    results = model.evaluate((TEXTS, PAIRS), LABELS, verbose=0, return_dict=True)
    assert set(results) == {"loss", "accuracy"}


@pytest.mark.parametrize("batched", [False, True])
def test_fit_takes_datasets_of_text(model, batched):
    tf = pytest.importorskip("tensorflow")
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS))
    dataset = dataset.batch(4) if batched else dataset
    model.fit(dataset, batch_size=4, verbose=0)
    assert int(model.optimizer.iterations) == 2
    results = model.evaluate(dataset, verbose=0, return_dict=True)
    expected = model.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)
    assert results["accuracy"] == expected["accuracy"]


def test_fit_takes_prepared_inputs(bare, inputs, difference):
    tf = pytest.importorskip("tensorflow")
    bare.fit(inputs, LABELS, batch_size=4, validation_split=0.25, verbose=0)
    assert int(bare.optimizer.iterations) == 2
    prepared = tf.data.Dataset.from_tensor_slices((inputs, LABELS)).batch(4)
    bare.fit(prepared, validation_data=prepared, verbose=0)
    assert int(bare.optimizer.iterations) == 4
    a, b = bare.predict(inputs, verbose=0), bare.predict(prepared, verbose=0)
    assert difference(a, b) < 1e-6


def test_evaluate_needs_no_compile(model):
    results = model.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)
    assert abs(results["loss"] - np.log(3)) < 0.2


def test_steps_that_executions_do_not_divide_are_refused(bare, inputs):
    bare.compile(**bare.default_compile_args(), steps_per_execution=2)
    y = np.zeros(len(inputs["token_ids"]), "int32")
    for call, name in (
        (lambda: bare.fit(inputs, y, steps_per_epoch=3), "steps_per_epoch"),
        (lambda: bare.fit(inputs, y, validation_data=(inputs, y), validation_steps=3), "valid"),
        (lambda: bare.evaluate(inputs, y, steps=3), "steps"),
        (lambda: bare.predict(inputs, steps=3), "steps"),
    ):
        with pytest.raises(ValueError, match=f"{name}.*=3 is not a multiple of.*=2"):
            call()


def test_one_class_is_regression(backbone, inputs):
    model = BertClassifier(backbone, num_classes=1)
    scores = np.linspace(-2, 5, 8)
    predicted = model.predict(inputs, verbose=0)
    assert predicted.shape == (8, 1)
    loss = model.evaluate(inputs, scores, batch_size=8, verbose=0)
    np.testing.assert_allclose(loss, np.mean((predicted[:, 0] - scores) ** 2), rtol=1e-4)
    model.fit(inputs, scores, verbose=0)
    assert int(model.optimizer.iterations) == 1


@pytest.mark.parametrize("labels", [[0, 1, 3, 0], [-1, 0, 1, 2], [[0], [1], [2], [3]]])
def test_labels_outside_the_classes_are_refused(bare, inputs, labels):
    x = {name: values[:4] for name, values in inputs.items()}
    for call in (
        lambda y: bare.fit(x, y),
        lambda y: bare.evaluate(x, y),
        lambda y: bare.fit(x, np.zeros(4), validation_data=(x, y)),
    ):
        with pytest.raises(ValueError, match="Labels must be in 0 to 2.*got values from"):
            call(np.array(labels))


@pytest.mark.parametrize("call", ["fit", "evaluate", "validation"])
def test_labels_outside_the_classes_are_refused_in_datasets_too(model, bare, inputs, call):
    tf = pytest.importorskip("tensorflow")
    slices = tf.data.Dataset.from_tensor_slices
    task, x = (model, (TEXTS, PAIRS)) if call == "fit" else (bare, inputs)
    right = slices((x, LABELS)).batch(4)
    wrong = slices((x, np.where(np.arange(8) == 6, 3, LABELS))).batch(4)
    assert task.predict(wrong, verbose=0).shape == (8, 3)  # labels of a test are often -1
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        if call == "fit":
            task.fit(wrong, verbose=0)
        elif call == "evaluate":
            task.evaluate(wrong, verbose=0)
        else:
            task.fit(right, validation_data=wrong, verbose=0)
    assert "Labels must be in 0 to 2 for num_classes=3" in str(error.value)
    assert "Labels outside:] [3]" in str(error.value)


def test_a_dataset_without_labels_is_refused(model):
    tf = pytest.importorskip("tensorflow")
    names = np.array(["good", "bad"] * 4)
    for dataset in ((TEXTS,), (TEXTS, names)):
        with pytest.raises(ValueError, match="gives no labels.*0 to 2.*second text"):
            model.fit(tf.data.Dataset.from_tensor_slices(dataset))


def test_labels_of_other_losses_are_left_alone(bare, backbone, inputs):
    tf = pytest.importorskip("tensorflow")
    slices = tf.data.Dataset.from_tensor_slices
    bare.compile(loss=keras.losses.CategoricalCrossentropy(from_logits=True))
    bare.fit(slices((inputs, 5 * np.eye(3)[LABELS])).batch(4), verbose=0)
    regression = BertClassifier(backbone, num_classes=1)
    history = regression.fit(slices((inputs, np.linspace(-9, 9, 8))).batch(4), verbose=0).history
    assert np.isfinite(history["loss"]).all()


def test_labels_by_name_are_learnt_as_by_number(backbone, inputs):
    model = BertClassifier(backbone, 3, label_names=["low", "mid", "high"])
    names = np.array(["low", "mid", "high"])[LABELS]
    by_name = model.evaluate(inputs, list(names), verbose=0)
    assert by_name == model.evaluate(inputs, LABELS, verbose=0)
    model.fit(inputs, names, validation_data=(inputs, names), verbose=0)
    assert int(model.optimizer.iterations) == 1
    for call in (model.fit, model.evaluate):
        with pytest.raises(ValueError, match="Label 0 is 'hihg'.*low, mid, high.*'high'"):
            call(inputs, np.array(8 * ["hihg"]))


def test_class_weights_weigh_the_loss_of_each_class(make_backbone, inputs, randomized):
    model = BertClassifier(make_backbone(num_layers=1, dropout=0.0), 3, dropout=0.0)
    logits = randomized(model).predict(inputs, verbose=0)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(8), LABELS]
    model.compile(keras.optimizers.SGD(0.0), model.default_compile_args()["loss"])
    for weights, expected in (
        ({0: 2.0, "2": 0.5}, np.array([2.0, 1.0, 0.5])),
        ("balanced", 8 / (3 * np.array([3, 3, 2]))),
    ):
        history = model.fit(inputs, LABELS, class_weight=weights, batch_size=8, verbose=0).history
        found = (losses * expected[LABELS]).mean()
        np.testing.assert_allclose(history["loss"], [found], rtol=1e-5)
    sample_weight = np.arange(8.0)
    both = model.class_sample_weight(LABELS, {0: 2.0}, sample_weight)
    assert both.tolist() == [0, 1, 2, 6, 4, 5, 12, 7]


def test_class_weights_of_text_and_of_datasets(model, randomized):
    tf = pytest.importorskip("tensorflow")
    weights = {"0": 3, "2": 0.25}  # keras's own class_weight fails on classes that are left out
    model.fit(TEXTS, LABELS.astype(str), class_weight=weights, verbose=0)
    model.fit(tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)), class_weight={"1": 2}, verbose=0)
    assert int(model.optimizer.iterations) == 2
    with pytest.raises(ValueError, match="counts the labels"):
        data = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS))
        model.fit(data, class_weight="balanced")


def test_class_weights_need_one_class_a_text(make_backbone, inputs):
    for arguments in ({"num_classes": 1}, {"num_classes": 3, "multi_label": True}):
        model = BertClassifier(make_backbone(num_layers=1), **arguments)
        with pytest.raises(ValueError, match="one class.*sample_weight"):
            model.fit(inputs, np.zeros((8, 3)), class_weight={0: 2.0})


def test_text_without_a_preprocessor_is_refused(bare):
    for call in (lambda: bare.fit(TEXTS, LABELS), lambda: bare.predict(TEXTS)):
        with pytest.raises(ValueError, match="no preprocessor.*BertPreprocessor"):
            call()


def test_texts_and_labels_must_be_as_many(model):
    with pytest.raises(ValueError, match="8 texts but 7"):
        model.fit(TEXTS, LABELS[:7])


@pytest.mark.parametrize("texts", [[], np.array([], dtype=object), ([], [])])
def test_no_texts_are_refused(model, texts):
    with pytest.raises(ValueError, match="There are no texts"):
        model.predict(texts)


def test_validation_split_of_texts_is_refused(model):
    with pytest.raises(ValueError, match="validation_split.*validation_data"):
        model.fit(TEXTS, LABELS, validation_split=0.5)
    with pytest.raises(ValueError, match="validation_split.*validation_data"):
        model.fit([{"context": text, "choices": TEXTS} for text in TEXTS], validation_split=0.5)


def test_a_vocabulary_larger_than_the_table_is_refused(make_backbone, preprocessor):
    with pytest.raises(ValueError, match="30 words.*only 29.*vocabulary_size=30"):
        BertClassifier(make_backbone(vocabulary_size=29), 3, preprocessor)


def test_sequences_longer_than_the_position_table_are_refused(make_backbone, preprocessor):
    with pytest.raises(ValueError, match="12 tokens.*positions for 8"):
        BertClassifier(make_backbone(max_sequence_length=8), 3, preprocessor)


def test_each_class_has_one_name(backbone):
    with pytest.raises(ValueError, match="3 classes but 2 label_names"):
        BertClassifier(backbone, 3, label_names=["no", "yes"])
    with pytest.raises(ValueError, match="num_classes must be 1"):
        BertClassifier(backbone, 0)
    with pytest.raises(ValueError, match="threshold is a probability.*got 1"):
        BertClassifier(backbone, 2, multi_label=True, threshold=1)
    assert BertClassifier(backbone, 2).label_names == ["0", "1"]


def test_a_saved_model_reads_text_as_before(model, difference, tmp_path):
    model.fit(TEXTS, LABELS, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded) is BertClassifier
    assert difference(model.predict(TEXTS, verbose=0), loaded.predict(TEXTS, verbose=0)) == 0.0
    assert loaded.preprocessor.get_config() == model.preprocessor.get_config()


def test_config_round_trip(backbone):
    model = BertClassifier(
        backbone,
        2,
        dropout=0.3,
        label_names=["no", "yes"],
        multi_label=True,
        threshold=0.2,
        num_features=4,
        window_stride=3,
        window_pooling="max",
    )
    copy = BertClassifier.from_config(model.get_config())
    assert copy.get_config() == model.get_config()
    assert copy.label_names == ["no", "yes"] and copy.dropout == 0.3


def test_dropout_acts_on_the_pooled_output(make_backbone, inputs, difference):
    model = BertClassifier(make_backbone(num_layers=1, dropout=0.0), 3, dropout=0.5)
    assert difference(model(inputs), model(inputs)) == 0.0
    assert difference(model(inputs), model(inputs, training=True)) > 1e-3


def test_logits_are_float32_under_mixed_bfloat16(make_backbone, inputs):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = BertClassifier(make_backbone(num_layers=1), 3)
    finally:
        keras.config.set_dtype_policy("float32")
    assert model.predict(inputs, verbose=0).dtype == np.float32
    assert np.isfinite(model.fit(inputs, LABELS, verbose=0).history["loss"]).all()
