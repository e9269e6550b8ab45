"""A smaller vocabulary changes no answer on the texts that it was made for."""

import re

import keras
import numpy as np
import pytest

from keras_bert import BertPretrainer, BertTask, BertTokenizer
from keras_bert.text.vocabulary import SPECIAL_TOKENS

WORDS = ["rain", "##bow", "ra", "##inbz", "spain", "##bowl"]


@pytest.fixture(scope="module")
def tokenizer():
    letters = [chr(ord("a") + i) for i in range(17)]
    return BertTokenizer([*WORDS, *SPECIAL_TOKENS, "[unused1]", *letters, "##s", "query", ":"])


@pytest.fixture
def task_of(make_reading, tokenizer):
    """Makes a task whose vocabulary has `tokenizer`'s words, and a row more in its table."""
    return lambda name: make_reading(name, tokenizer, vocabulary_size=40)


def tokens(model):
    return model.preprocessor.tokenizer.get_vocabulary()


def table(model):
    return keras.ops.convert_to_numpy(model.backbone.token_embedding.embeddings)


@pytest.mark.parametrize("name", ["pairs", "features", "tags", "questions", "choices"])
def test_answers_on_the_texts_are_the_same_bits(
    task_of, cases, name, untraced, assert_same, tmp_path
):
    model, x = task_of(name), cases[name][1]
    small = model.trim_vocabulary(x)
    assert type(small) is type(model) and small.preprocessor is not model.preprocessor
    assert tokens(small) == [*SPECIAL_TOKENS, *"abcdefghijklmnopq", "##s", ":"]
    assert small.backbone.vocabulary_size == len(tokens(small)) == len(table(small))
    small.save_to_preset(tmp_path)
    for copy in (small, BertTask.from_preset(tmp_path)):
        assert_same(untraced(copy).answer(x), model.answer(x))


def test_the_whole_of_each_text_counts(task_of, tf):
    model = task_of("classes")
    texts = ["a " * 20 + "rainbows", "spain"]
    for x in (texts, iter(texts), tf.data.Dataset.from_tensor_slices(texts).batch(2)):
        assert {*tokens(model.trim_vocabulary(x))} & {*WORDS} == {"rain", "##bow", "spain"}


def test_an_unknown_word_stays_unknown(task_of, untraced, assert_same):
    model = task_of("classes")
    assert model.preprocessor.tokenizer("rainbz") == [tokens(model).index("[UNK]")]
    pieces = ["ra", "##inbz"]
    small = untraced(model.trim_vocabulary("rainbz", keep=pieces))
    assert {*tokens(small)} & {*WORDS} == {"rain", *pieces}
    assert_same([small.answer("rainbz")], [model.answer("rainbz")])


def test_words_are_cut_alike_whatever_the_vocabulary():
    generator = np.random.default_rng(1)
    words = ["".join(generator.choice([*"ab"], 1 + i % 6)) for i in range(120)]
    for _ in range(300):
        pieces = {begin + word for word in generator.choice(words, 20) for begin in ("", "##")}
        pieces = generator.choice(sorted(pieces), 15, replace=False).tolist()
        whole, texts = BertTokenizer([*SPECIAL_TOKENS, *pieces]), generator.choice(words, 20)
        expected = [[*map(whole.id_to_token, ids)] for ids in whole.tokenize(texts)]
        found = {*map(whole.id_to_token, whole.used_ids)} - {*SPECIAL_TOKENS}
        part = BertTokenizer([*SPECIAL_TOKENS, *found])
        assert [[*map(part.id_to_token, ids)] for ids in part.tokenize(texts)] == expected


def test_words_to_keep(task_of, refused):
    model = task_of("classes")
    for keep in ("Rainbow", ["rain", "##bow"]):
        assert {*tokens(model.trim_vocabulary(["a"], keep))} & {*WORDS} == {"rain", "##bow"}
    for word in ("zebra", "##aa", "a b", "[unused2]", ""):
        message = rf"{re.escape(repr(word))}, which is neither a token"
        refused(message, model.trim_vocabulary, ["a"], [word])


def test_what_is_frozen_and_the_source_stay(task_of):
    model = task_of("classes")
    model.backbone.published_source = "hf://user/name"
    model.backbone.blocks[0].trainable = False
    small = model.trim_vocabulary(["a"])
    assert small.backbone.published_source == "hf://user/name"
    paths, found = ([v.path for v in task.trainable_variables] for task in (model, small))
    assert found == paths


def test_prompts_stay(task_of, untraced):
    model = task_of("vectors")
    reader = type(model.preprocessor)
    model.preprocessor = reader(model.preprocessor.tokenizer, 12, prompts={"query": "query: "})
    small = untraced(model.trim_vocabulary(text for text in ["a b", "c"]))
    assert "query" in tokens(small)
    np.testing.assert_array_equal(small.encode_query(["a b"]), model.encode_query(["a b"]))


@pytest.mark.parametrize("name", ["pretrainer", "untied"])
def test_masked_tokens_are_found_among_those_that_stay(task_of, assert_close, name, tmp_path):
    model = task_of(name)
    model.masked_lm_head.bias.assign(np.arange(40.0))
    small = model.trim_vocabulary(["rain in spain"])
    ids = [tokens(model).index(token) for token in tokens(small)]
    inputs = {"token_ids": [[6, 5, 7]], "mask_positions": [[1]]}
    inputs = {part: np.array(values) for part, values in inputs.items()}
    whole = {**inputs, "token_ids": np.array(ids)[inputs["token_ids"]]}
    logits = keras.ops.convert_to_numpy(model(whole)["masked_lm"])
    assert_close(small(inputs)["masked_lm"], logits[..., ids])
    small.save_to_hugging_face(tmp_path)
    assert tokens(BertPretrainer.from_preset(tmp_path)) == tokens(small)


def test_the_tokens_of_a_corpus(task_of, tmp_path, refused):
    prepare = pytest.importorskip("keras_bert.corpus.prepare_corpus").prepare_corpus
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file, text in zip(files, ["Rain in Spain.", "Rainbows."], strict=True):
        file.write_text(text)
    model = task_of("pretrainer")
    tokenizer, options = model.preprocessor.tokenizer, {"num_workers": 1, "progress": False}
    corpus = prepare(files, tmp_path / "corpus", tokenizer, **options)
    small = model.trim_vocabulary(corpus)
    assert {*tokens(small)} & {*WORDS} == {"rain", "spain", "##bow"}
    refused("different vocabulary", small.trim_vocabulary, corpus)


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_a_quantized_task(task_of, cases, untraced, assert_same):
    model, x = task_of("classes"), cases["classes"][1]
    model.quantize("int8")
    small = untraced(model.trim_vocabulary(x))
    assert str(table(small).dtype) == "int8"
    assert_same(small.answer(x), model.answer(x))


def test_what_can_not_be_trimmed_is_refused(task_of, refused):
    model = task_of("classes")
    refused(
        "needs texts, before they are prepared",
        model.trim_vocabulary,
        {"token_ids": np.ones((1, 3))},
    )
    refused("Text 1 is 3, not a string", model.trim_vocabulary, ["a", 3])
    model.enable_lora(2)
    refused("merge_lora", model.trim_vocabulary, ["a"])
    model.merge_lora()
    model.preprocessor = None
    refused("needs a preprocessor", model.trim_vocabulary, ["a"])
