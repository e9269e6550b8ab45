"""recipes/learn_vocabulary.py and recipes/prepare_corpus.py, as a person runs them."""

import os

import pytest

import keras_bert

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *"one two three four".split()]


@pytest.fixture
def arguments(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    books = tmp_path / "books"
    books.mkdir()
    for i in range(6):
        (books / f"{i}.txt").write_text("PART\nOne two. Three four.\nPART\nFour three two. One.\n")
    vocabulary, output = str(tmp_path / "vocab.txt"), str(tmp_path / "corpus")
    return [str(books), "--vocabulary", vocabulary, "--output", output]


def test_the_recipe_writes_a_vocabulary_that_the_tokenizer_reads(recipe, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("the low, the lower, the lowest " * 5)
    output = tmp_path / "new" / "vocab.txt"
    recipe("learn_vocabulary").main([str(text), "--output", str(output), "--vocabulary_size", "25"])
    tokenizer = keras_bert.BertTokenizer(output)
    assert tokenizer.vocabulary_size() == 25
    assert tokenizer.unk_token_id not in tokenizer("The lowest, the lower")
    assert f"25 tokens in {output}" in capsys.readouterr().out
    assert os.listdir(tmp_path / "new") == ["vocab.txt"]


def test_the_recipe_writes_a_corpus_that_pretraining_reads(recipe, arguments, tmp_path, capsys):
    recipe("prepare_corpus").main([*arguments, "--document_separator", "^PART$"])
    shown = "documents: 12, sentences: 24, tokens: 72, [UNK]: 0.00%, longest"
    assert shown in capsys.readouterr().out
    settings = {"batch_size": 2, "sequence_length": 16, "epochs": 1}
    x, y, _ = next(iter(keras_bert.pretraining_dataset(tmp_path / "corpus", **settings)))
    assert x["token_ids"].shape == (2, 16) and set(y) == {"masked_lm", "next_sentence"}


def test_the_vocabulary_may_be_that_of_a_preset(recipe, arguments, preset, tmp_path):
    arguments[2] = str(preset)
    recipe("prepare_corpus").main(arguments)
    corpus = keras_bert.Corpus(tmp_path / "corpus")
    corpus.check_tokenizer(keras_bert.BertTokenizer.from_preset(preset))


def test_arguments_of_a_runner_need_a_runner(recipe, arguments, capsys):
    args = recipe("prepare_corpus").parse_args(
        [*arguments, "--runner", "X", "--num_workers", "9", "-p"]
    )
    assert args.beam_options == ["--runner=X", "--num_workers=9", "-p"]
    with pytest.raises(SystemExit):
        recipe("prepare_corpus").main([*arguments, "--sede", "1"])
    assert "unknown arguments: --sede 1" in capsys.readouterr().err
