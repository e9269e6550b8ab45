import keras
import numpy as np
import pytest

from keras_bert import BertTask, BertTokenClassifier

NAMES = ["O", "B-X", "I-X", "B-Y", "I-Y"]
SENTENCES = [
    ["a", "b", "c"],
    ["d"],
    [],
    ["e", "f", "g", "h"] * 6,
    ["zz", "b", "\u200b"],
]
TAGS = [["O", "B-X", "I-X"], ["B-Y"], [], ["O", "O", "B-X", "I-X"] * 6, ["O", "B-X", "O"]]
TEXTS = ["a b c", "d", "", "e, (f) g-h. " * 9, "zz b ä"]


@pytest.fixture
def backbone(make_backbone):
    return make_backbone(num_layers=1)


@pytest.fixture
def model(backbone, preprocessor):
    return BertTokenClassifier(backbone, 5, preprocessor, label_names=NAMES)


@pytest.fixture
def bare(backbone):
    """A token classifier without a preprocessor."""
    return BertTokenClassifier(backbone, 5)


@pytest.fixture
def varied():
    """Gives a model weights under which tokens differ in class."""

    def vary(model):
        generator = np.random.default_rng(5)
        for weight in model.weights:
            if weight.path.endswith(("kernel", "embeddings")):
                weight.assign(generator.normal(0, 0.7, weight.shape))
        return model

    return vary


@pytest.fixture
def tagged(inputs):
    """Classes `[8, 12]` and weights for the prepared inputs: every other token is learnt."""
    weights = inputs["padding_mask"] * (np.arange(12) % 2)
    return inputs["token_ids"] % 5, weights.astype("float32")


def test_logits_are_of_every_token(bare, inputs):
    assert bare.predict(inputs, verbose=0).shape == (8, 12, 5)
    assert bare.label_names == ["0", "1", "2", "3", "4"]


def test_loss_and_accuracy_are_means_over_what_has_a_weight(bare, randomized, inputs, tagged):
    labels, weights = tagged
    randomized(bare)
    found = bare.evaluate(
        inputs, labels, sample_weight=weights, batch_size=8, verbose=0, return_dict=True
    )
    logits = bare.predict(inputs, verbose=0).astype("float64")
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(log_probabilities, labels[..., None], axis=-1)[..., 0]
    assert found["loss"] == pytest.approx((losses * weights).sum() / weights.sum(), rel=1e-4)
    right = (logits.argmax(-1) == labels) * weights
    assert found["accuracy"] == pytest.approx(right.sum() / weights.sum(), rel=1e-5)


def test_it_learns_words_and_their_tags(model):
    model.compile(**{**model.default_compile_args(), "optimizer": keras.optimizers.Adam(0.02)})
    history = model.fit(
        SENTENCES, TAGS, epochs=40, validation_data=(SENTENCES, TAGS), verbose=0
    ).history
    assert set(history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert model.predict(SENTENCES) == TAGS
    assert model.evaluate(SENTENCES, TAGS, verbose=0, return_dict=True)["accuracy"] == 1.0


def test_class_numbers_are_as_good_as_tags(model):
    numbers = [[NAMES.index(tag) for tag in tags] for tags in TAGS]
    by_names = model.evaluate(SENTENCES, TAGS, verbose=0)
    assert model.evaluate(SENTENCES, numbers, verbose=0) == by_names


def test_datasets_of_tagged_words_are_what_words_are(model, preprocessor):
    from keras_bert import tagged_dataset

    numbers = [[NAMES.index(tag) for tag in tags] for tags in TAGS]
    data = tagged_dataset(SENTENCES, numbers, preprocessor=preprocessor, batch_size=32, trim=True)
    expected = model.evaluate(SENTENCES, TAGS, verbose=0)
    assert model.evaluate(data, verbose=0) == pytest.approx(expected, rel=1e-5)
    model.fit(data, verbose=0)
    assert int(model.optimizer.iterations) == 1 and model.optimizer.name == "adamw"


def test_tags_of_words_are_those_of_their_first_pieces(model, varied):
    varied(model)
    tags = model.predict(SENTENCES, batch_size=2)
    assert [len(sentence) for sentence in tags] == [len(words) for words in SENTENCES]
    logits = model.predict({k: v.numpy() for k, v in model.preprocessor(["a b c"]).items()})
    assert tags[0] == [NAMES[i] for i in logits[0, 1:4].argmax(-1)]
    assert model.predict(SENTENCES, batch_size=32) == tags
    assert len(set(sum(tags, []))) > 2


def test_context_changes_what_is_answered_of_a_sentence(model, varied):
    varied(model)
    sentences = [["a", "b"], ["c"], ["d", "e"]]
    apart = model.predict(sentences, documents=[0, 1, 2])
    assert apart == model.predict(sentences)
    together = model.predict([["a", "b", "c", "d", "e"]])[0]
    assert sum(model.predict(sentences, documents=[0, 0, 0]), []) == together


def test_entities_of_a_text_are_the_tags_of_its_words(model, varied):
    from keras_bert.metrics.entities import tagged_entities

    varied(model)
    found = 0
    for text in ("a b c", "h g f e d", "c d c d x y", "y x a d"):
        words = text.split()
        [tags] = model.predict([words])
        expected = [
            (" ".join(words[start:end]), type_) for type_, start, end in tagged_entities(tags)
        ]
        entities = model.predict(text)
        assert [(entity["text"], entity["type"]) for entity in entities] == expected
        found += len(entities)
    assert found > 5


def test_every_form_of_texts_gives_the_same(model, varied):
    tf = pytest.importorskip("tensorflow")
    expected = varied(model).predict(TEXTS, batch_size=3)
    assert [len(entities) > 0 for entities in expected][2:4] == [False, True]
    for text, entities in zip(TEXTS, expected, strict=True):
        for entity in entities:
            assert set(entity) == {"text", "type", "start", "end", "score"}
            assert text[entity["start"] : entity["end"]] == entity["text"] != ""
            assert entity["type"] in ("X", "Y") and 0 < entity["score"] <= 1
    forms = {
        "array": np.array(TEXTS),
        "bytes": [text.encode() for text in TEXTS],
        "tensor": tf.constant(TEXTS),
        "dataset": tf.data.Dataset.from_tensor_slices(TEXTS),
        "batched dataset": tf.data.Dataset.from_tensor_slices(TEXTS).batch(2),
    }
    for name, form in forms.items():
        given = model.predict(form)
        for entities, others in zip(given, expected, strict=True):
            without = [{k: v for k, v in e.items() if k != "score"} for e in entities]
            assert without == [{k: v for k, v in e.items() if k != "score"} for e in others], name
    assert [e["text"] for e in model.predict(TEXTS[3])] == [e["text"] for e in expected[3]]


@pytest.mark.parametrize(
    ("x", "tags", "message"),
    [
        ([["a"]], [["B-Z"]], "Sentence 0 has the tag 'B-Z'.*none of the 5 classes: O, B-X"),
        ([["a"]], [[5]], "Sentence 0 has the tag 5"),
        ([["a"]], [[-100]], "Sentence 0 has the tag -100"),
        ([["a"]], None, "give the tags of each sentence"),
        ([["a", "b"]], [["O"]], "2 words but 1 labels"),
        (["a b"], [["O"]], "learns from words.*read_conll"),
    ],
)
def test_what_cannot_be_learnt_is_refused(model, x, tags, message):
    with pytest.raises(ValueError, match=message):
        model.fit(x, tags)


def test_labels_outside_the_classes_are_refused(bare, inputs, tagged):
    labels, weights = tagged
    for wrong in (np.where(weights > 0, labels, -100), labels + 1):
        with pytest.raises(ValueError, match="Labels must be in 0 to 4.*sample_weight 0"):
            bare.fit(inputs, wrong, sample_weight=weights)


def test_words_and_text_need_a_preprocessor(bare, model):
    tf = pytest.importorskip("tensorflow")
    for call in (lambda: bare.predict(SENTENCES), lambda: bare.fit(SENTENCES, TAGS)):
        with pytest.raises(ValueError, match="given words, but it has no preprocessor"):
            call()
    with pytest.raises(ValueError, match="given text, but it has no preprocessor"):
        bare.predict(TEXTS)
    with pytest.raises(ValueError, match="not pairs of them"):
        model.predict(tf.data.Dataset.from_tensor_slices((TEXTS, TEXTS)))


def test_each_class_has_one_name(backbone):
    with pytest.raises(ValueError, match="3 classes but 2 label_names"):
        BertTokenClassifier(backbone, 3, label_names=["O", "B-X"])
    with pytest.raises(ValueError, match="num_classes must be 2"):
        BertTokenClassifier(backbone, 1)


def test_it_becomes_a_preset_and_a_keras_file_and_comes_back(model, varied, tmp_path):
    expected = varied(model).predict(TEXTS)
    model.save_to_preset(tmp_path / "preset")
    model.save(tmp_path / "model.keras")
    back = BertTask.from_preset(tmp_path / "preset")
    assert type(back) is BertTokenClassifier and back.get_config() == model.get_config()
    assert back.predict(TEXTS) == expected
    assert keras.models.load_model(tmp_path / "model.keras").predict(TEXTS) == expected
    other = BertTokenClassifier.from_preset(tmp_path / "preset", num_classes=2)
    assert set(other.load_report.new) == {"logits/kernel", "logits/bias"}


def test_dropout_acts_on_the_sequence_output(make_backbone, inputs, difference):
    model = BertTokenClassifier(make_backbone(num_layers=1, dropout=0.0), 3, dropout=0.5)
    assert difference(model(inputs), model(inputs)) == 0.0
    assert difference(model(inputs), model(inputs, training=True)) > 1e-3
