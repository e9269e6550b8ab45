"""Models with other tokenizers than BERT's: rows, tasks, files, serving."""

import json
import logging

import numpy as np
import pytest

from keras_bert import (
    BertPreprocessor,
    BertPretrainer,
    BertTask,
    BertTokenizer,
    FastTokenizer,
    ModernBertBackbone,
    prepare_corpus,
)
from tests import vocabularies
from tests.vocabularies import BERT

MAKE = {"roberta": vocabularies.byte_pairs, "xlm-roberta": vocabularies.unigrams}


@pytest.fixture(scope="module", params=MAKE)
def architecture(request):
    return request.param


@pytest.fixture(scope="module")
def tokenizer(architecture):
    return FastTokenizer(MAKE[architecture]())


@pytest.fixture(scope="module")
def roberta():
    return FastTokenizer(vocabularies.byte_pairs())


@pytest.fixture
def make_task(make_case, make_backbone, varied):
    def make(name, tokenizer, architecture="roberta"):
        size = tokenizer.vocabulary_size()
        encoder = make_backbone(architecture=architecture, num_segments=1, vocabulary_size=size)
        model = make_case(name, encoder)
        model.preprocessor.tokenizer = tokenizer
        return varied(model)

    return make


def test_pairs_have_two_separators_and_no_segments(make_task, tokenizer):
    model = make_task("pairs", tokenizer)
    reader = model.preprocessor
    first, second = tokenizer(["a b", "c"])
    inputs = reader(["a b"], ["c"])
    sep = [tokenizer.sep_token_id]
    row = [tokenizer.cls_token_id, *first, *sep, *sep, *second, *sep]
    assert inputs["token_ids"].tolist() == [row + [tokenizer.pad_token_id] * (12 - len(row))]
    assert not inputs["segment_ids"].any() and inputs["padding_mask"].sum() == len(row)
    long = "a b c d e f g " * 3
    [cut] = reader([long], [long])["token_ids"].tolist()
    assert len(cut) == 12 and cut.count(sep[0]) == 3 and cut[-1] == sep[0]


def test_a_mask_includes_the_space_before_it(make_task, tokenizer):
    model = make_task("pretrainer", tokenizer)
    spaced, other = (model.fill_mask(text, top_k=3) for text in ("a [MASK] c", "a[MASK] c"))
    assert spaced == other and len(spaced[0]) == 3
    tokens = {word["token"] for word in model.fill_mask("[MASK]", top_k=10**6)[0]}
    assert len(tokens) > 9 and not {token[:1] for token in tokens} & {"Ġ", "▁"}
    [[word]] = model.fill_mask("[MASK]", targets="b")
    assert word["token"].strip() == "b"


def test_a_vocabulary_grows_by_whole_words(make_task, tokenizer, assert_close):
    model = make_task("classes", tokenizer)
    grown = model.grow_vocabulary(["zzxq", "e-9"])
    first, ids = tokenizer.vocabulary_size(), grown.preprocessor.tokenizer
    assert ids("zzxq e-9") == [first, first + 1] and ids("zzxqs") == tokenizer("zzxqs")
    assert_close(grown.predict(["a b"]), model.predict(["a b"]))


def test_entities_are_words_without_their_spaces(make_task, tokenizer):
    model = make_task("tags", tokenizer)
    text = "Ada, (Lovelace's)  fox"
    model.predict_on_batch = lambda x: np.full((*x["token_ids"].shape, 3), [0, 9, 0], "float32")
    [answer] = model.answer([text])
    assert "".join(answer["entity_text"]).replace(" ", "") == text.replace(" ", "")
    assert all(found == found.strip() for found in answer["entity_text"])


def test_tasks_answer_after_saving(make_task, tokenizer, cases, assert_same, reloaded):
    for name in ("tags", "questions"):
        model, x = make_task(name, tokenizer), cases[name][1]
        assert_same(reloaded(model).answer(x), model.answer(x))


def test_hugging_face_folders_come_and_go(
    make_task, tokenizer, architecture, untraced, assert_same, tmp_path, refused
):
    model, texts = make_task("classes", tokenizer, architecture), ["a b", "c (x)"]
    model.save_to_hugging_face(tmp_path)
    back = untraced(BertTask.from_preset(tmp_path))
    assert back.backbone.architecture == architecture
    assert_same(back.answer(texts), model.answer(texts))
    path = tmp_path / "tokenizer.json"
    assert path.read_bytes() == tokenizer.contents()
    assert back.preprocessor.tokenizer.get_config() == tokenizer.get_config()
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert settings["model_input_names"] == ["input_ids", "attention_mask"]
    path.write_bytes(vocabularies.changed(path.read_bytes(), model={"type": "Other"}))
    refused(r"tokenizers [0-9.]+ can't read the vocabulary", BertTask.from_preset, tmp_path)


def test_what_only_bert_s_tokenizer_can_do_is_refused(make_task, roberta, tmp_path, refused):
    make_task("classes", roberta).save_to_preset(tmp_path)
    refused("a FastTokenizer, not a BertTokenizer", BertTokenizer.from_preset, tmp_path)
    refused("leave lowercase out", BertTask.from_preset, tmp_path, lowercase=True)
    (tmp_path / "a.txt").write_text("A text.")
    message = "tokens of a BertTokenizer .*; got FastTokenizer"
    refused(message, prepare_corpus, tmp_path / "a.txt", tmp_path / "corpus", roberta)


def test_the_served_model_takes_token_ids(make_task, roberta, tensorflow, tmp_path, caplog):
    model = make_task("classes", roberta)
    with caplog.at_level(logging.WARNING, "keras_bert"):
        path = model.export(tmp_path / "served")
    assert "takes token ids, no raw strings: give it model.preprocessor(texts)" in caplog.text
    served = tensorflow.saved_model.load(path).signatures
    assert served.keys() == {"serving_default", "token_ids"}
    inputs = {n: tensorflow.constant(v) for n, v in model.preprocessor(["a b"]).items()}
    label = served["serving_default"](**inputs)["label"].numpy()[0].decode()
    assert label == model.answer("a b")["label"]


def test_tokens_of_modernbert_are_those_of_its_folder(untraced, assert_same, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    data = vocabularies.byte_pairs(BERT, nfc=True)
    tokenizer = FastTokenizer(data)
    sizes = {"hidden_dim": 16, "intermediate_dim": 24}
    backbone = ModernBertBackbone(tokenizer.vocabulary_size(), 2, 2, **sizes)
    reader = BertPreprocessor(tokenizer, sequence_length=64)
    task = untraced(BertPretrainer(backbone, next_sentence=False, preprocessor=reader))
    row = tokenizers.Tokenizer.from_buffer(data).encode("a b", "c").ids
    assert reader(["a b"], ["c"])["token_ids"][0].tolist()[: len(row)] == row
    task.save_to_hugging_face(tmp_path)
    assert FastTokenizer.from_preset(tmp_path).get_config() == tokenizer.get_config()
    again = untraced(BertTask.from_preset(tmp_path))
    assert_same(again.fill_mask("a [MASK] c")[0], task.fill_mask("a [MASK] c")[0])
