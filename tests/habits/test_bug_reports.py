"""Programs from public bug reports of other libraries, each with the value that is right."""

import json
import shutil

import keras
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from keras_bert import (
    Batching,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertEmbedderPreprocessor,
    BertSpanLabeler,
    BertSpanLabelerPreprocessor,
    BertTokenClassifier,
    BertTokenClassifierPreprocessor,
    BertTokenizer,
    losses,
)
from keras_bert.readers import read_conll, read_squad

TEXTS, LABELS = ["a b", "c d", "a a", "d"], ["no", "yes", "no", "yes"]


@pytest.fixture
def classifier(make_backbone, letters, eager):
    def make(names=("no", "yes"), **arguments):
        reader = BertClassifierPreprocessor(letters, 12, label_names=list(names), **arguments)
        return eager(BertClassifier(make_backbone(), preprocessor=reader))

    return make


@pytest.fixture
def folder(tmp_path, classifier):
    """Writes a folder for transformers, and changes its files."""

    def write(task=None, name="config.json", **changes):
        (task or classifier()).save_to_hugging_face(tmp_path / "hf")
        path = tmp_path / "hf" / name
        content = json.loads(path.read_text()) | changes
        content = {key: value for key, value in content.items() if value is not KeyError}
        path.write_text(json.dumps(content))
        return tmp_path / "hf"

    return write


SIMILARITIES = {
    "cosine": lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b),
    "dot": lambda a, b: a @ b,
    "euclidean": lambda a, b: -np.linalg.norm(a - b),
    "manhattan": lambda a, b: -np.abs(a - b).sum(),
}


@pytest.fixture
def embedder(make_backbone, letters, varied, folder, tmp_path):
    """Makes an embedder that compares texts as a folder says, and saves and loads it."""

    def make(name):
        reader = BertEmbedderPreprocessor(letters, 12)
        model = varied(BertEmbedder(make_backbone(), normalize=False, preprocessor=reader))
        config = "config_sentence_transformers.json"
        model = BertEmbedder.from_preset(folder(model, config, similarity_fn_name=name))
        model.save_to_hugging_face(tmp_path / "theirs")
        BertEmbedder.from_preset(tmp_path / "theirs").save_to_preset(tmp_path / "ours")
        return BertEmbedder.from_preset(tmp_path / "ours")

    return make


@pytest.mark.parametrize("name", SIMILARITIES)
def test_texts_are_compared_as_the_folder_says(embedder, name, assert_close):
    model = embedder(name)
    texts = ["a b", "c c d", "e", "x y z a", "a a"]
    vectors = model.encode_document(texts)
    expected = np.array([[SIMILARITIES[name](a, b) for b in vectors] for a in vectors])
    assert_close(model.similarity(texts, vectors), expected)
    assert_close(model.similarity(vectors[0], texts), expected[:1])
    assert [part.shape for part in model.search(texts, [])] == [(5, 0), (5, 0)]
    assert_close(model.similarity_pairwise(texts, texts[::-1]), expected[::-1].diagonal())
    for size in (1, 10):
        indices, found = model.search(texts, texts, size)
        order = np.argsort(-expected, axis=1, kind="stable")[:, :size]
        np.testing.assert_array_equal(indices, order)
        assert_close(found, np.take_along_axis(expected, order, axis=1))
    scores = model.scores((texts, texts[::-1]), [0.1, 0.9, 1.0, 0.2, 0.3])
    pairs = expected[::-1].diagonal()
    expected = np.corrcoef(pairs, [0.1, 0.9, 1.0, 0.2, 0.3])[0, 1]  # from -1 to 1
    assert scores["pearson"] == pytest.approx(expected, abs=1e-5)


ANSWER = {"text": "b c", "answer_start": 2}
QUESTION = {"id": "1", "question": "a", "context": "a b c d", "answers": [ANSWER]}
ANSWERS = {
    "columns": {"text": ["b c"], "answer_start": [2]},
    "arrays": {"text": np.array(["b c"]), "answer_start": np.array([2.0])},
    "a float": [{"text": "b c", "answer_start": 2.0}],
}


@pytest.fixture
def labeler(make_backbone, letters, eager):
    reader = BertSpanLabelerPreprocessor(letters, 12, max_question_length=4, document_stride=3)
    return eager(BertSpanLabeler(make_backbone(), preprocessor=reader))


@pytest.mark.parametrize("form", ANSWERS)
def test_answers_of_other_layouts_are_the_same(labeler, form, assert_close):
    other = {**QUESTION, "id": 1, "answers": ANSWERS[form]}
    expected, found = ([*labeler.batches([q])] for q in (QUESTION, other))
    assert_close(found, expected)
    assert labeler.scores([other]) == labeler.scores([QUESTION])


@pytest.mark.parametrize("start", [None, [float("nan")], [1, 2], "2", 3])
def test_damaged_columns_of_answers_are_refused(labeler, write, start, refused):
    row = {**QUESTION, "answers": {"text": ["b c"], "answer_start": start}}
    refused("Answers must be a list of dicts|answers", labeler.fit, [row], verbose=0)
    refused("answer", read_squad, write(json.dumps([row]), "a.json"))


def test_a_question_that_lists_no_answers_has_none(labeler):
    none = {"id": "2", "question": "b", "context": "a b c", "answers": []}
    [(_, labels)] = labeler.batches([QUESTION, none, none], batching=Batching(8, shuffle=False))
    assert labels["start"].tolist() == [4, 0, 0]
    labeler.preprocessor = labeler.preprocessor.like(labeler.preprocessor, null_threshold=-1e9)
    assert labeler.scores([QUESTION, none])["NoAns_exact"] == 100.0


@pytest.mark.parametrize("is_lines", [True, False])
def test_rows_of_questions_are_a_file_of_squad(write, is_lines):
    rows = [{**QUESTION, "id": 7, "answers": ANSWERS["columns"]}, {**QUESTION, "answers": []}]
    rows[1]["title"] = "a line\u2028separator"
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    examples = read_squad(write(lines if is_lines else json.dumps(rows), "a.json"))
    assert [example["id"] for example in examples] == ["7", "1"]
    assert [example["answers"] for example in examples] == [[ANSWER], []]


@pytest.mark.parametrize("names", [KeyError, ["BertForSequenceClassificationWithFoo"]])
def test_a_head_is_known_by_its_weights(classifier, folder, names, assert_close):
    model = classifier()
    loaded = BertClassifier.from_preset(folder(model, architectures=names))
    assert_close(loaded.predict(TEXTS, verbose=0), model.predict(TEXTS, verbose=0))
    tagger = BertTokenClassifier.from_preset(folder(model, architectures=names))
    assert_close(tagger.head.get_weights(), model.head.get_weights())


CONFIGS = [
    {"id2label": {"0": 0, "1": 1}},
    {"id2label": KeyError, "label2id": {"no": 0, "yes": 1}},
    {"type_vocab_size": 0},
]


@pytest.mark.parametrize("changes", CONFIGS)
def test_configurations_of_all_ages_are_read(classifier, folder, changes):
    model = BertClassifier.from_preset(folder(**changes))
    names = ["0", "1"] if changes.get("id2label", KeyError) is not KeyError else ["no", "yes"]
    assert model.preprocessor.label_names == names


def test_lower_case_letters_keep_their_accents(make_backbone, folder, tmp_path):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ä", "a", "##r", "r"]
    reader = BertClassifierPreprocessor(BertTokenizer(tokens), 12, label_names=["no", "yes"])
    model = BertClassifier(make_backbone(vocabulary_size=9), preprocessor=reader)
    changes = {"name": "tokenizer_config.json", "do_lower_case": True, "strip_accents": False}
    model = BertClassifier.from_preset(folder(model, **changes))
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "theirs")
    for again in ("preset", "theirs"):
        tokenizer = BertClassifier.from_preset(tmp_path / again).preprocessor.tokenizer
        assert tokenizer(["Är", "ar"]) == [[5, 7], [6, 7]]


def test_added_tokens_stay_whole_wherever_a_model_goes(make_backbone, letters, folder, tmp_path):
    words = [*letters.get_vocabulary(), "<NUM>"]
    reader = BertClassifierPreprocessor(BertTokenizer(words), 12, label_names=["no", "yes"])
    model = BertClassifier(make_backbone(vocabulary_size=len(words)), preprocessor=reader)
    vocabulary = {word: index for index, word in enumerate(words[:-1])}
    pieces = {"type": "WordPiece", "vocab": vocabulary}
    token = {"id": len(vocabulary), "content": "<NUM>", "special": False, "normalized": True}
    source = folder(model, "tokenizer.json", model=pieces, added_tokens=[token])
    (source / "vocab.txt").unlink(missing_ok=True)
    model = BertClassifier.from_preset(source)
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "theirs")
    model.save(tmp_path / "a.keras")
    models = [model, keras.saving.load_model(tmp_path / "a.keras")]
    models += [BertClassifier.from_preset(tmp_path / name) for name in ("preset", "theirs")]
    text = "a<num>b <NUM>"
    for model in models:
        tokenizer = model.preprocessor.tokenizer
        ids = [tokenizer.token_to_id(token) for token in ("a", "<NUM>", "b", "<NUM>")]
        assert tokenizer(text) == ids
        [inputs] = model.batches([text])
        assert np.array(inputs["token_ids"])[0, 1:5].tolist() == ids
    tokenizers = pytest.importorskip("tokenizers", reason="pip install tokenizers")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "theirs" / "tokenizer.json"))
    assert theirs.encode(text).ids[1:-1] == models[0].preprocessor.tokenizer(text)


def test_a_regression_of_several_numbers_is_one(
    classifier, folder, eager, tmp_path, refused, assert_close
):
    names = ["valence", "arousal", "dominance"]
    source = folder(classifier(names), problem_type="regression")
    model = eager(BertClassifier.from_preset(source))
    numbers = np.array([[0.1, 0.5, 0.9], [0.2, 0.1, 0.4], [0.3, 0.3, 0.8], [0.9, 0.7, 0.6]])
    model.fit(TEXTS, numbers, verbose=0)
    outputs = model.predict(TEXTS, verbose=0)
    error = np.mean((outputs - numbers) ** 2)
    assert_close(model.evaluate(TEXTS, numbers, verbose=0), error)
    answers = model.answer(TEXTS)
    assert_close(np.array([answer["score"] for answer in answers]), outputs)
    assert answers[0]["labels"] == names and json.dumps(answers)
    assert model.scorer.table(answers)[0] == names
    scores = model.scores(TEXTS, numbers)
    columns = zip(outputs.T, numbers.T, strict=True)
    expected = np.mean([np.corrcoef(*pair)[0, 1] for pair in columns])
    assert scores["pearson"] == pytest.approx(expected, abs=1e-5)
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "theirs")
    for again in (tmp_path / "preset", tmp_path / "theirs"):
        loaded = BertClassifier.from_preset(again)
        assert loaded.is_regression
        assert_close(loaded.predict(TEXTS, verbose=0), outputs)
    refused(r"numbers, \[n, 3\], of valence", model.fit, TEXTS, numbers[:, 0])
    refused("this BertClassifier has none", model.fit, TEXTS, numbers, class_weight="balanced")


@pytest.mark.parametrize("is_rank_stabilized", [False, True])
def test_an_adapter_of_peft_is_merged(
    classifier, folder, tmp_path, refused, is_rank_stabilized, assert_close
):
    base = folder(classifier(), architectures=["BertForPreTraining"])
    tensors = load_file(base / "model.safetensors")
    generator = np.random.default_rng(3)
    own, expected = {}, dict(tensors)
    for name in ("query", "value"):
        layer = f"bert.encoder.layer.0.attention.self.{name}"
        a, b = (generator.normal(size=shape).astype("float32") for shape in ((4, 16), (16, 4)))
        if is_rank_stabilized and name == "query":  # as of an encoder alone
            layer = layer.removeprefix("bert.")
        own[f"base_model.model.{layer}.lora_A.weight"] = a
        own[f"base_model.model.{layer}.lora_B.weight"] = b
        full = f"bert.{layer.removeprefix('bert.')}.weight"
        expected[full] += 8 / (2 if is_rank_stabilized else 4) * (b @ a)
    for name, shape in {"classifier.weight": (3, 16), "classifier.bias": (3,)}.items():
        expected[name] = generator.normal(size=shape).astype("float32")
        own[f"base_model.model.{name}"] = expected[name]
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    save_file(own, adapter / "adapter_model.safetensors")
    config = {"base_model_name_or_path": str(base), "lora_alpha": 8, "r": 4}
    config["use_rslora"] = is_rank_stabilized
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    if is_rank_stabilized:  # some folders have the configuration of the model, too
        shutil.copy(base / "config.json", adapter)
    merged = shutil.copytree(base, tmp_path / "merged")
    save_file(expected, merged / "model.safetensors", metadata={"format": "pt"})
    theirs = merged / "config.json"
    names = {"id2label": {str(n): str(n) for n in range(3)}, "label2id": {}}
    theirs.write_text(json.dumps(json.loads(theirs.read_text()) | names))
    found, wanted = (BertClassifier.from_preset(path) for path in (adapter, merged))
    assert_close(found.predict(TEXTS, verbose=0), wanted.predict(TEXTS, verbose=0))
    own["base_model.model.bert.x.lora_magnitude_vector"] = np.ones(4, "float32")
    save_file(own, adapter / "adapter_model.safetensors")
    refused("other than plain LoRA.*merge_and_unload", BertClassifier.from_preset, adapter)


ROWS = {
    "sentence": [{"sentence": "a b", "label": "no", "idx": 3}, {"sentence": "c", "label": "yes"}],
    "labels": [
        {"text": "a b", "labels": "no", "id": "x"},
        {"text": "c", "labels": "yes", "id": ""},
    ],
    "pairs": [
        {"premise": "a", "hypothesis": "b", "label": 0},
        {"premise": "c", "hypothesis": "d", "label": 1},
    ],
    "pairs of the same": [
        {"sentence1": "a", "sentence2": "b", "label": 0},
        {"sentence1": "c", "sentence2": "d", "label": 1},
    ],
}
PAIRS = ([("a", "b"), ("c", "d")], [0, 1])


def arrow(rows):
    reason = 'pip install ".[parquet]"'
    return pytest.importorskip("pyarrow", reason=reason).Table.from_pylist(rows)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_data_sets_are_read_by_their_names(classifier, name, assert_close):
    model = classifier()
    examples = PAIRS if name.startswith("pairs") else (["a b", "c"], [0, 1])
    expected = [*model.batches(*examples)]
    for form in (list, iter, pd.DataFrame, arrow):
        assert_close([*model.batches(form(ROWS[name]))], expected)
    assert len(model.answer(arrow(ROWS[name]))) == 2


def test_a_dict_of_columns_with_labels_is_a_table(classifier, assert_close, refused):
    model = classifier()
    expected = [*model.batches(TEXTS, LABELS)]
    assert_close([*model.batches({"text": TEXTS, "label": LABELS})], expected)
    assert model.answer({"text": "a b", "label": "no"})["label"] in ("no", "yes")
    splits = type("DatasetDict", (dict,), {})(train=TEXTS)
    refused("several data sets, train: give one", model.fit, splits)


def test_labels_of_one_class_are_told(classifier, caplog):
    model = classifier()
    model.fit(TEXTS, LABELS, verbose=0)
    assert "nothing can be learned" not in caplog.text
    model.fit(TEXTS, np.array(["yes"] * 4), verbose=0)
    assert "All 4 labels are yes" in caplog.text


def test_columns_of_arrow_are_lists(classifier, assert_close):
    model = classifier()
    table = arrow(
        [{"a": text, "b": label, "c": 2.0} for text, label in zip(TEXTS, LABELS, strict=True)]
    )
    expected = [*model.batches(TEXTS, LABELS, np.full(4, 2.0))]
    columns = [table[name].combine_chunks() for name in "abc"]
    assert_close([*model.batches(*(table[name] for name in "abc"))], expected)
    assert_close([*model.batches({"text": columns[0]}, *columns[1:])], expected)
    [(pairs, _)] = model.batches((columns[0], columns[0]), columns[1])
    [(others, _)] = model.batches((TEXTS, TEXTS), LABELS)
    assert_close(pairs, others)
    assert model.class_counts(columns[1]) == {"no": 2, "yes": 2}


@pytest.fixture
def tagger(make_backbone, letters, eager):
    reader = BertTokenClassifierPreprocessor(letters, 12, label_names=["O", "B-X", "I-X"])
    return eager(BertTokenClassifier(make_backbone(), 3, reader))


def test_words_without_a_label_neither_train_nor_count(tagger, tmp_path):
    words, tags = [["a", "b", "c"], ["d", "e"]], [[1, -100, 0], [-100, 2]]
    pairs = list(zip(words, tags, strict=True))
    rows = [{"tokens": sentence, "ner_tags": own, "id": "7"} for sentence, own in pairs]
    [(_, labels, weights)] = tagger.batches(rows, batching=Batching(2, shuffle=False))
    assert weights[:, 1:4].tolist() == [[1, 0, 1], [0, 1, 0]]
    assert labels[:, 1:4].tolist() == [[1, 0, 0], [0, 2, 0]]
    scores = tagger.scores(words, tags)
    answers = tagger.answer(words)
    names = tagger.preprocessor.label_names
    chosen = [(0, 0), (0, 2), (1, 1)]
    right = sum(answers[i]["label"][n] == names[tags[i][n]] for i, n in chosen)
    assert scores["accuracy"] == pytest.approx(right / 3)
    tagger.scorer.write(tmp_path, "dev", answers, words, tags)


def test_scores_of_pairs_are_read_by_their_name(make_backbone, letters):
    model = BertEmbedder(make_backbone(), preprocessor=BertEmbedderPreprocessor(letters, 12))
    rows = [{"sentence1": "a", "sentence2": c, "score": n / 4} for n, c in enumerate("abcd")]
    [(_, scores)] = model.batches(rows, batching=Batching(4, shuffle=False))
    assert scores.tolist() == [0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize("metric", ["mae", keras.metrics.CosineSimilarity()])
def test_a_metric_of_one_hot_labels_needs_them(classifier, metric, refused):
    model = classifier()
    model.compile(metrics=[metric], run_eagerly=True)
    refused(r"takes one-hot labels.*np.eye\(2\)", model.fit, TEXTS, LABELS, verbose=0)


def test_labels_by_name_may_be_smoothed(classifier, varied, assert_close):
    model = varied(classifier())  # whose logits are far from 0
    outputs = model.predict(TEXTS, verbose=0)
    smooth = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    expected = smooth(np.eye(2)[[0, 1, 0, 1]], outputs)
    loss = losses.LogitCrossentropy(label_smoothing=0.1)
    model.compile("sgd", loss)  # as a graph
    assert_close(model.evaluate(TEXTS, LABELS, verbose=0), expected)
    assert_close(model.evaluate(model.preprocessor(TEXTS), np.array([[0], [1]] * 2), verbose=0),
                 expected)  # fmt: skip
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert again.label_smoothing == 0.1


def test_labels_of_several_may_have_weights(classifier, refused, assert_close):
    model = classifier(("x", "y", "z"), multi_label=True)
    labels = [["x"], ["x", "z"], [], ["y"]]
    refused("WeightedBinaryCrossentropy", model.fit, TEXTS, labels, class_weight={"x": 2})
    weights = (4 - np.array([*model.class_counts(labels).values()])) / [2, 1, 1]
    loss = losses.WeightedBinaryCrossentropy(weights)
    model.compile("sgd", loss)  # as a graph, which doesn't know the shape of the labels
    probabilities = 1 / (1 + np.exp(-model.predict(TEXTS, verbose=0)))
    matrix = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]])
    expected = -matrix * [1, 3, 3] * np.log(probabilities)
    expected -= (1 - matrix) * np.log(1 - probabilities)
    assert_close(model.evaluate(TEXTS, labels, verbose=0), expected.mean())
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert again.pos_weight == [1.0, 3.0, 3.0]
    one = classifier()
    one.compile("sgd", losses.WeightedBinaryCrossentropy([1, 2]))
    refused("as many, 0 or 1 for each", one.fit, TEXTS, LABELS, verbose=0)


def test_a_user_s_own_loss_and_metric_take_class_numbers(classifier):
    class MeanSquaredRank(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)

    def mean_squared_of_mine(y_true, y_pred):
        return keras.ops.cast(y_true, "float32")[..., 0] if len(y_true.shape) > 1 else y_true

    model = classifier()
    model.compile(loss=MeanSquaredRank(), metrics=[mean_squared_of_mine], run_eagerly=True)
    assert np.isfinite(model.fit(TEXTS, LABELS, verbose=0).history["loss"]).all()


def test_a_split_that_leaves_a_class_to_the_end_is_told(classifier, caplog):
    model = classifier()
    model.fit(TEXTS, sorted(LABELS), validation_split=0.5, verbose=0)
    assert "none of yes" in caplog.text
    caplog.clear()
    labels = LABELS * 4 + ["yes"] * 4 * len(LABELS)
    model.fit(TEXTS * 8, labels, validation_split=0.5, verbose=0)
    assert "which validate, are all yes" in caplog.text
    caplog.clear()
    model.fit(TEXTS, LABELS, validation_split=0.5, verbose=0)
    assert "none of" not in caplog.text


@pytest.mark.parametrize("tags", ["PER-B PER-I O", "B_PER I_PER O", "b-per i-per o", "B:X I:X O"])
def test_other_writings_of_bio_are_refused_with_their_line(write, tags, refused):
    path = write("\n".join(f"w {tag}" for tag in tags.split()))
    refused("line 1: the tag .* must be written 'B-", read_conll, path)
    assert read_conll(path, scheme=None).tags == [tags.split()]
    assert read_conll(write("a NN-B\nb NN-X\n")).tags == [["NN-B", "NN-X"]]


CONLL = {
    "UNER": ("# sent_id = 1\n# text = Ada is\n1\tAda\tB-PER\t-\n2\tis\tO\t-\n", {"tag_column": 2}),
    "CoNLL-U": ("1-2\tAdas\t_\n1\tAda\tB-PER\n1.1\tx\tO\n2\tis\tO\n", {}),
    "GermEval": ("#\thttp://a.b\t[2009]\n1\tAda\tB-PER\tO\n2\tis\tO\tO\n", {"tag_column": 2}),
    "MultiCoNER": ("# id 2f8d domain=en\nAda _ _ B-PER\nis _ _ O\n", {}),
}


@pytest.mark.parametrize("name", CONLL)
def test_tagged_words_are_read_as_they_come(write, name):
    text, options = CONLL[name]
    found = read_conll(write(f"{text}\n{text}"), **options)
    assert found.words == [["Ada", "is"]] * 2 and found.tags == [["B-PER", "O"]] * 2


def test_a_hash_is_a_word(write):
    text = "# O\nlove B-X\n\n#love O\n# O\n"
    assert read_conll(write(text)).words == [["#", "love"], ["#love", "#"]]
