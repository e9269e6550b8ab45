"""Programs from public bug reports of other libraries, each with the value that is right."""

import json

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_bert import (
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertEmbedderPreprocessor,
    BertTokenClassifier,
    BertTokenizer,
    losses,
)
from keras_bert.preprocessing.labels import Relevance
from keras_bert.readers import read_conll, read_squad

TEXTS, LABELS = ["a b", "c d", "a a", "d"], ["no", "yes", "no", "yes"]


@pytest.fixture
def classifier(make_backbone, letters, eager):
    def make(names=("no", "yes"), tokenizer=letters, **arguments):
        reader = BertClassifierPreprocessor(tokenizer, 12, label_names=list(names), **arguments)
        encoder = make_backbone(vocabulary_size=tokenizer.vocabulary_size())
        return eager(BertClassifier(encoder, preprocessor=reader))

    return make


@pytest.fixture
def folder(tmp_path, classifier):
    """Writes a folder for transformers, and changes one of its files."""

    def write(task=None, name="config.json", **changes):
        (task or classifier()).save_to_hugging_face(tmp_path / "hf")
        path = tmp_path / "hf" / name
        content = json.loads(path.read_text()) | changes
        content = {key: value for key, value in content.items() if value is not KeyError}
        path.write_text(json.dumps(content))
        return tmp_path / "hf"

    return write


@pytest.fixture
def saved(tmp_path):
    """Yields a model as it is loaded from a preset and from a folder for transformers."""

    def load(model):
        model.save_to_preset(tmp_path / "preset")
        model.save_to_hugging_face(tmp_path / "theirs")
        return [type(model).from_preset(tmp_path / name) for name in ("preset", "theirs")]

    return load


# Folders

CONFIGS = [  # changes, and the names of classes
    ({"architectures": KeyError}, ["no", "yes"]),
    ({"architectures": ["BertForSequenceClassificationWithFoo"]}, ["no", "yes"]),
    ({"id2label": {"0": 0, "1": 1}}, ["0", "1"]),
    ({"id2label": KeyError, "label2id": {"no": 0, "yes": 1}}, ["no", "yes"]),
]


def test_configurations_of_all_ages_are_read(classifier, folder, assert_close):
    model = classifier()
    for changes, names in CONFIGS:
        loaded = BertClassifier.from_preset(folder(model, **changes))
        assert loaded.preprocessor.label_names == names
        assert_close(loaded.predict(TEXTS), model.predict(TEXTS))
    without_segments = BertClassifier.from_preset(folder(model, type_vocab_size=0))
    assert without_segments.backbone.num_segments == 0
    tagger = BertTokenClassifier.from_preset(folder(model, **CONFIGS[0][0]))
    assert_close(tagger.head.get_weights(), model.head.get_weights())


def test_a_tokenizer_s_settings_go_wherever_a_model_goes(classifier, saved, letters, tmp_path):
    words = [*letters.get_vocabulary(), "ä", "##r", "<NUM>"]
    settings = {"strip_accents": False, "strip_private_use": True}
    tokenizer = BertTokenizer(words, added_tokens={"<NUM>": True}, **settings)
    model = classifier(tokenizer=tokenizer)
    model.save(tmp_path / "a.keras")
    models = [model, keras.saving.load_model(tmp_path / "a.keras"), *saved(model)]
    text = "\uf0b7 a<num>Ä\U0010fffdr <NUM>ar"
    ids = [words.index(token) for token in ("a", "<NUM>", "ä", "##r", "<NUM>", "a", "##r")]
    for model in models:
        assert model.preprocessor.tokenizer(text) == ids
        [inputs] = model.batches([text])
        assert inputs["token_ids"][0, 1:8].tolist() == ids
    tokenizers = pytest.importorskip("tokenizers", reason="pip install tokenizers")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "theirs" / "tokenizer.json"))
    assert theirs.encode(text).ids[1:-1] == ids


def test_an_adapter_of_peft_is_merged(classifier, folder, tmp_path, refused, assert_close):
    base = folder(classifier(), architectures=["BertForPreTraining"])
    expected, adapter = load_file(base / "model.safetensors"), {}
    generator = np.random.default_rng(3)
    for prefix, name in (
        ("bert.", "query"),
        ("", "value"),
    ):  # as of an encoder alone, too
        layer = f"encoder.layer.0.attention.self.{name}"
        a, b = (generator.normal(size=shape).astype("float32") for shape in ((4, 16), (16, 4)))
        adapter[f"{prefix}{layer}.lora_A.weight"] = a
        adapter[f"{prefix}{layer}.lora_B.weight"] = b
        expected[f"bert.{layer}.weight"] += 8 / 2 * (b @ a)
    for name, shape in {"classifier.weight": (3, 16), "classifier.bias": (3,)}.items():
        adapter[name] = expected[name] = generator.normal(size=shape).astype("float32")

    def save():
        tensors = {f"base_model.model.{name}": tensor for name, tensor in adapter.items()}
        save_file(tensors, tmp_path / "adapter_model.safetensors")

    config = {
        "base_model_name_or_path": str(base),
        "lora_alpha": 8,
        "r": 4,
        "use_rslora": True,
    }
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    save()
    found = BertClassifier.from_preset(tmp_path)
    classes = {str(number): str(number) for number in range(3)}
    theirs = folder(id2label=classes, label2id={})
    save_file(expected, theirs / "model.safetensors", metadata={"format": "pt"})
    wanted = BertClassifier.from_preset(theirs)
    assert_close(found.predict(TEXTS), wanted.predict(TEXTS))
    adapter["bert.x.lora_magnitude_vector"] = np.ones(4, "float32")
    save()
    refused("other than plain LoRA.*merge_and_unload", BertClassifier.from_preset, tmp_path)


SIMILARITIES = {
    "cosine": lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b),
    "dot": lambda a, b: a @ b,
    "euclidean": lambda a, b: -np.linalg.norm(a - b),
    "manhattan": lambda a, b: -np.abs(a - b).sum(),
}


@pytest.mark.slow
def test_texts_are_compared_as_the_folder_says(
    make_backbone, letters, varied, folder, saved, assert_close
):
    reader = BertEmbedderPreprocessor(letters, 12)
    model = varied(BertEmbedder(make_backbone(), normalize=False, preprocessor=reader))
    texts, scores = ["a b", "c c d", "e", "x y z a", "a a"], [0.1, 0.9, 1.0, 0.2, 0.3]
    vectors = model.encode_document(texts)
    config = "config_sentence_transformers.json"
    for name, compare in SIMILARITIES.items():
        theirs = BertEmbedder.from_preset(folder(model, config, similarity_fn_name=name))
        expected = np.array([[compare(a, b) for b in vectors] for a in vectors])
        order = np.argsort(-expected, axis=1, kind="stable")[:, :2]
        pairs = expected[::-1].diagonal()
        for each in saved(theirs):
            each.run_eagerly = True
            assert_close(each.similarity(texts, vectors), expected, name=name)
            assert_close(each.similarity_pairwise(texts, texts[::-1]), pairs, name=name)
            np.testing.assert_array_equal(each.search(texts, texts, 2)[0], order)
            pearson = each.scores((texts, texts[::-1]), scores)["pearson"]
            assert pearson == pytest.approx(np.corrcoef(pairs, scores)[0, 1], abs=1e-5)


# Texts


def test_texts_that_are_cut_are_told_once(classifier, caplog):
    long, short = "a b c d e f " * 3, "a b"  # 18 tokens, of which 10 fit
    texts = [long, short, short, long]
    stream = [*zip(texts, LABELS, strict=True)] * 2
    for verb in (
        lambda model: model.fit(texts, LABELS, epochs=2, validation_data=(texts, LABELS)),
        lambda model: model.fit(iter(stream), steps_per_epoch=2, epochs=2, batch_size=2),
        lambda model: [model.answer(texts), model.answer(long)],
    ):
        model = classifier()
        verb(model)
        [message] = caplog.messages
        assert "of 4 examples" in message or "of 8 examples" in message
        assert "sequence_length=12; the longest has at least 20 tokens" in message
        assert "model.preprocessor.like(model.preprocessor, sequence_length=" in message
        caplog.clear()
    for advice in ({"sequence_length": 16}, {"window_stride": 5}):
        model.preprocessor = model.preprocessor.like(model.preprocessor, **advice)
        model.answer("a " * 14)
    reader = classifier().preprocessor
    reader.read([long] + [short] * 9).warn_if_cut(reader)  # a tenth
    assert not caplog.messages
    reader.read(([long], [short])).warn_if_cut(reader)
    assert "23 tokens" in caplog.text and "window_stride" not in caplog.text  # of single texts


# Labels


def test_a_regression_of_several_numbers_is_one(
    classifier, folder, saved, eager, refused, assert_close
):
    names = ["valence", "arousal", "dominance"]
    source = folder(classifier(names), problem_type="regression")
    model = eager(BertClassifier.from_preset(source))
    numbers = np.array([[0.1, 0.5, 0.9], [0.2, 0.1, 0.4], [0.3, 0.3, 0.8], [0.9, 0.7, 0.6]])
    outputs = model.predict(TEXTS)
    answers = model.answer(TEXTS)
    assert_close(np.array([answer["score"] for answer in answers]), outputs)
    assert answers[0]["labels"] == names
    assert model.scorer.table(answers)[0] == names
    columns = zip(outputs.T, numbers.T, strict=True)
    pearson = np.mean([np.corrcoef(*pair)[0, 1] for pair in columns])
    assert model.scores(TEXTS, numbers)["pearson"] == pytest.approx(pearson, abs=1e-5)
    for loaded in saved(model):
        assert loaded.is_regression
        assert_close(loaded.predict(TEXTS), outputs)
    refused(r"numbers, \[n, 3\], of valence", model.fit, TEXTS, numbers[:, 0])
    refused("this BertClassifier has none", model.fit, TEXTS, numbers, class_weight="balanced")


def test_labels_of_one_class_and_sorted_ones_are_told(classifier, caplog):
    model = classifier()
    for labels, split, told in (
        (np.array(["yes"] * 4), 0.0, "All 4 labels are yes: nothing can be learned"),
        (LABELS, 0.5, None),
        (sorted(LABELS), 0.5, "none of yes"),
        (LABELS * 4 + ["yes"] * 16, 0.5, "which validate, are all yes"),
    ):
        caplog.clear()
        texts = TEXTS * (len(labels) // 4)
        model.fit(texts, labels, validation_split=split)
        assert (told in caplog.text) if told else not caplog.records
    caplog.clear()
    model.fit(iter([(text, "no") for text in TEXTS]), steps_per_epoch=2, batch_size=2)
    assert "All 4 labels are no" in caplog.text and "shuffle" in caplog.text
    caplog.clear()
    several = classifier(multi_label=True).labels
    scores = classifier(["score"]).labels
    for rules, equal, others in (
        (several, [{"no", "yes"}] * 2, [{"no"}, {"yes"}]),
        (several, np.ones((2, 2)), np.eye(2)),
        (model.labels, np.eye(2)[[1, 1]], np.eye(2)),
        (scores, [0.5, 0.5], [0.5, 0.1]),
        (Relevance(), [1.0, 1.0], [[1, 0], [1, 0]]),
    ):
        for labels, told in ((equal, 1), (others, 0)):
            rules.warn_of_equal(labels)
            assert len(caplog.messages) == told, labels
            caplog.clear()


def test_labels_of_several_may_have_weights(classifier, refused, assert_close):
    model = classifier(("x", "y", "z"), multi_label=True)
    labels = [["x"], ["x", "z"], [], ["y"]]
    refused("WeightedBinaryCrossentropy", model.fit, TEXTS, labels, class_weight={"x": 2})
    loss = losses.WeightedBinaryCrossentropy([1.0, 3.0, 3.0])
    model.compile("sgd", loss)  # as a graph, which doesn't know the shape of the labels
    logits = model.predict(TEXTS)
    matrix = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]])
    missed, claimed = np.logaddexp(0, -logits), np.logaddexp(0, logits)
    expected = np.where(matrix, [1, 3, 3] * missed, claimed)
    assert_close(model.evaluate(TEXTS, labels), expected.mean())
    each = losses.WeightedBinaryCrossentropy([1.0, 3.0, 3.0], reduction="none")
    assert_close(np.asarray(each(matrix, logits)), expected.mean(axis=1))  # examples have weights
    one = classifier()
    one.compile("sgd", losses.WeightedBinaryCrossentropy([1, 2]))
    refused("as many, 0 or 1 for each", one.fit, TEXTS, LABELS)


# Files


def test_rows_of_questions_are_a_file_of_squad(write):
    row = {"question": "a", "context": "a b c d", "title": "a line\u2028separator"}
    rows = [{**row, "id": 7, "answers": {"text": ["b c"], "answer_start": [2]}}]
    rows.append({**row, "id": "1", "answers": []})
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    for content in (lines, json.dumps(rows)):
        examples = read_squad(write(content, "a.json"))
        assert [example["id"] for example in examples] == ["7", "1"]
        answers = [example["answers"] for example in examples]
        assert answers == [[{"text": "b c", "answer_start": 2}], []]


def test_other_writings_of_bio_are_refused_with_their_line(write, refused):
    for tags in ("PER-B PER-I O", "B_PER I_PER O", "b-per i-per o", "B:X I:X O"):
        path = write("\n".join(f"w {tag}" for tag in tags.split()))
        refused("line 1: the tag .* must be written 'B-", read_conll, path)
        assert read_conll(path, scheme=None).tags == [tags.split()]
    assert read_conll(write("a NN-B\nb NN-X\n")).tags == [["NN-B", "NN-X"]]


CONLL = {
    "UNER": (
        "# sent_id = 1\n# text = Ada is\n1\tAda\tB-PER\t-\n2\tis\tO\t-\n",
        {"tag_column": 2},
    ),
    "CoNLL-U": ("1-2\tAdas\t_\n1\tAda\tB-PER\n1.1\tx\tO\n2\tis\tO\n", {}),
    "GermEval": (
        "#\thttp://a.b\t[2009]\n1\tAda\tB-PER\tO\n2\tis\tO\tO\n",
        {"tag_column": 2},
    ),
    "MultiCoNER": ("# id 2f8d domain=en\nAda _ _ B-PER\nis _ _ O\n", {}),
}


def test_tagged_words_are_read_as_they_come(write):
    for name, (text, options) in CONLL.items():
        found = read_conll(write(f"{text}\n{text}"), **options)
        assert found.words == [["Ada", "is"]] * 2, name
        assert found.tags == [["B-PER", "O"]] * 2, name
    hashes = "# O\nlove B-X\n\n#love O\n# O\n"  # are words
    assert read_conll(write(hashes)).words == [["#", "love"], ["#love", "#"]]
