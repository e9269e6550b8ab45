"""Models with RoBERTa's vocabulary: byte pairs, which Hugging Face's `tokenizers` cuts."""

import json
import logging
import pickle
import shutil

import keras
import numpy as np
import pytest

from keras_bert import BertTask, BytePairTokenizer

TEXTS = [
    "The quick brown fox can't jump (over) 13 lazy dogs!",
    "狐狸昨天 穿过了马路。",
    "ﬁne e\u0301 🙂",
]
TEXTS += ["", " ", "  two  spaces ", "a b c d e f g", "\x00a\n\tb", "Ada, Lovelace's [mask]"]
TASKS = ["classes", "pairs", "features", "windows", "score", "tags", "questions", "choices"]
TASKS += ["documents", "vectors"]


@pytest.fixture(scope="module")
def contents():
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    level = tokenizers.pre_tokenizers.ByteLevel
    pieces = tokenizers.Tokenizer(tokenizers.models.BPE())
    pieces.pre_tokenizer = level(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=level.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator(TEXTS * 3, trainer)
    model = json.loads(pieces.to_str())["model"]
    return {"vocab": {**model["vocab"], "<mask>": len(model["vocab"])}, "merges": model["merges"]}


@pytest.fixture(scope="module")
def tokenizer(contents):
    return BytePairTokenizer(contents)


@pytest.fixture
def task_of(make_backbone, make_case, varied, tokenizer):
    def make(name):
        sizes = {"vocabulary_size": tokenizer.vocabulary_size(), "num_segments": 1}
        model = make_case(name, make_backbone(**sizes))
        model.preprocessor = type(model.preprocessor).like(model.preprocessor)
        model.preprocessor.tokenizer = tokenizer
        return varied(model)

    return make


def assert_same(found, expected):
    for answer, other in zip(found, expected, strict=True):
        assert answer.keys() == other.keys()
        for name in answer:
            np.testing.assert_array_equal(answer[name], other[name], err_msg=name)


def test_texts_come_back_and_every_token_has_its_place(tokenizer):
    assert tokenizer.detokenize(tokenizer.tokenize(TEXTS)) == TEXTS
    for text, ids, starts, ends in zip(TEXTS, *tokenizer.tokenize_with_offsets(TEXTS), strict=True):
        assert starts == sorted(starts)
        for id, start, end in zip(ids, starts, ends, strict=True):
            piece = tokenizer.detokenize([id]).strip()
            if "\ufffd" not in piece:  # a part of a character
                assert text[start:end] == piece
    assert pickle.loads(pickle.dumps(tokenizer)).get_config() == tokenizer.get_config()
    bytes_ = tokenizer.tokenize_with_offsets("ﬁ x", unit="bytes")[1:]
    assert (bytes_[0][-1], bytes_[1][-1]) == (4, 5)


def test_words_in_a_text_have_the_tokens_of_words_alone(tokenizer):
    ids, lengths = tokenizer.ids_of_words(["fox", "lazy"])
    assert ids.tolist() == tokenizer.tokenize(" fox lazy")
    assert lengths.tolist() == [*map(len, tokenizer.tokenize([" fox", " lazy"]))]


def probabilities(answers):
    return np.array([answer["probabilities"] for answer in answers])


@pytest.mark.parametrize("name", TASKS)
def test_every_task_answers_after_saving(task_of, cases, name, tmp_path):
    model, x = task_of(name), cases[name][1]
    if name == "features":
        model.adapt_features(x["features"])
    answers = model.answer(x)
    model.save_to_preset(tmp_path / "preset")
    assert_same(BertTask.from_preset(tmp_path / "preset").answer(x), answers)
    model.save(tmp_path / "model.keras")
    assert_same(keras.saving.load_model(tmp_path / "model.keras").answer(x), answers)


def test_entities_are_words_without_their_spaces(task_of):
    model = task_of("tags")
    text = "Ada, (Lovelace's)  fox"
    model.predict_on_batch = lambda x: _tag_all(x, model)
    [answer] = model.answer([text])
    assert "".join(answer["entity_text"]).replace(" ", "") == text.replace(" ", "")
    assert all(found == found.strip() for found in answer["entity_text"])


def _tag_all(x, model):
    logits = np.zeros((*x["token_ids"].shape, model.num_classes), "float32")
    number = next(i for i, n in enumerate(model.preprocessor.label_names) if n.startswith("B-"))
    logits[..., number] = 9
    return logits


def test_hugging_face_folders_come_and_go(assert_close, task_of, tokenizer, tmp_path):
    model = task_of("classes")
    answers = model.answer(TEXTS[:2])
    model.save_to_hugging_face(tmp_path / "ours")
    assert json.loads((tmp_path / "ours/config.json").read_text())["model_type"] == "roberta"
    shutil.copytree(tmp_path / "ours", tmp_path / "old")
    (tmp_path / "old/tokenizer.json").unlink()
    for folder in ("ours", "old"):
        back = BertTask.from_preset(tmp_path / folder)
        for mine, other in zip(model.get_weights(), back.get_weights(), strict=True):
            np.testing.assert_array_equal(mine, other)
        assert_close(probabilities(back.answer(TEXTS[:2])), probabilities(answers))
        found = BytePairTokenizer.from_preset(tmp_path / folder)
        assert found.tokenize(TEXTS) == tokenizer.tokenize(TEXTS)


def test_a_first_word_may_have_the_token_of_one_after_a_space(contents, task_of, tmp_path):
    model = task_of("classes")
    model.preprocessor.tokenizer = BytePairTokenizer({**contents, "add_prefix_space": True})
    tokenize = model.preprocessor.tokenizer.tokenize
    assert tokenize("fox") == tokenize(" fox") == BytePairTokenizer(contents).tokenize(" fox")
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "theirs")
    for folder in ("preset", "theirs"):
        assert BytePairTokenizer.from_preset(tmp_path / folder).tokenize("fox") == tokenize("fox")


def test_the_served_model_takes_token_ids(task_of, tensorflow, tmp_path, caplog):
    model = task_of("classes")
    with caplog.at_level(logging.WARNING, "keras_bert"):
        path = model.export(tmp_path / "served")
    assert "takes token ids, no raw strings" in caplog.text
    served = tensorflow.saved_model.load(path).signatures
    assert served.keys() == {"serving_default", "token_ids"}
    inputs = {n: tensorflow.constant(v) for n, v in model.preprocessor(["a b"]).items()}
    label = served["serving_default"](**inputs)["label"].numpy()[0].decode()
    assert label == model.answer("a b")["label"]
    dataset = tensorflow.data.Dataset.from_tensor_slices((["a", "b"], [0, 1])).batch(2)
    with pytest.raises(ValueError, match="no ops for a BytePairTokenizer: give texts in memory"):
        model.fit(dataset)


def test_what_is_no_vocabulary_of_its_kind_is_refused(task_of, contents, tmp_path, refused):
    vocab, merges = contents["vocab"], contents["merges"]
    refused("ids are 0, 1, 2 .* and merges; got", BytePairTokenizer, {"vocab": vocab})
    refused("and merges; got", BytePairTokenizer, {})
    gap = {**vocab, "<mask>": 999}
    refused("ids are 0, 1, 2", BytePairTokenizer, {"vocab": gap, "merges": merges})
    few = {token: i for i, token in enumerate(t for t in vocab if t != "</s>")}
    pairs = [pair for pair in merges if "".join(pair) in few]
    refused("tokens lacks </s>", BytePairTokenizer, {"vocab": few, "merges": pairs})
    refused("a dict of vocab and merges", BytePairTokenizer.from_config, {"vocabulary": "a.json"})
    model = task_of("classes")
    refused("a BytePairTokenizer can't be trimmed", model.trim_vocabulary, ["a"])
    model.save_to_hugging_face(tmp_path / "theirs")
    path = tmp_path / "theirs/tokenizer.json"
    fast = json.loads(path.read_text()) | {"normalizer": {"type": "NFC"}}
    path.write_text(json.dumps(fast))
    with pytest.raises(ValueError, match="splits text with ByteLevel after NFC"):
        BertTask.from_preset(tmp_path / "theirs").answer("a")


@pytest.mark.slow
def test_transformers_reads_and_answers_as_ours(
    task_of, torch, transformers, assert_close, tmp_path
):
    model = task_of("pairs")
    model.save_to_hugging_face(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert type(theirs).__name__ == "RobertaTokenizer"
    points = [chr(point) for point in range(1, 0x11000) if not 0xD800 <= point < 0xE000]
    texts = TEXTS + [f"a{c}b {c}" for c in points]
    expected = theirs(texts, add_special_tokens=False)["input_ids"]
    assert model.preprocessor.tokenizer.tokenize(texts) == expected
    pairs = ["a b c d", "狐狸 x", "e"], ["b", "", "c (d), 🙂"]
    given = theirs(*pairs, padding=True, truncation=True, max_length=12, return_tensors="pt")
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert type(network).__name__ == "RobertaForSequenceClassification"
    with torch.no_grad():
        logits = torch.softmax(network(**given).logits, -1).numpy()
    answers = model.answer(pairs)
    assert_close(np.array([a["probabilities"] for a in answers]), logits, size=1)
