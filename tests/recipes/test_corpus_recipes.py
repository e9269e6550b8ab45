"""recipes/learn_vocabulary.py and recipes/prepare_corpus.py, as a person runs them."""

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


def test_the_recipe_writes_a_vocabulary_that_the_tokenizer_reads(recipe, tmp_path, capsys, refused):
    text = tmp_path / "text.txt"
    text.write_text("the low, the lower, the lowest " * 5)
    output = tmp_path / "new" / "vocab.txt"
    recipe("learn_vocabulary").main([str(text), "--output", str(output), "--vocabulary_size", "25"])
    tokenizer = keras_bert.BertTokenizer(output)
    assert tokenizer.vocabulary_size() == 25
    assert tokenizer.unk_token_id not in tokenizer("The lowest, the lower")
    assert f"25 tokens in {output}" in capsys.readouterr().out
    refused("is a folder", recipe("learn_vocabulary").main, ["a", "--output_file", str(tmp_path)])


def test_a_corpus_has_the_vocabulary_of_a_file_or_of_a_preset(
    recipe, arguments, preset, tmp_path, capsys
):
    recipe("prepare_corpus").main([*arguments, "--document_separator", "^PART$"])
    shown = "documents: 12, sentences: 24, tokens: 72, [UNK]: 0.00%, longest"
    assert shown in capsys.readouterr().out
    arguments[2] = str(preset)
    recipe("prepare_corpus").main([*arguments, "--output", str(tmp_path / "other")])
    corpus = keras_bert.Corpus(tmp_path / "other")
    corpus.check_tokenizer(keras_bert.BertTokenizer.from_preset(preset))


def test_arguments_of_a_runner_are_beams(recipe, arguments):
    line = [*arguments, "--runner", "X", "--num_workers", "9", "-p"]
    args = recipe("prepare_corpus").parse_args(line)
    assert args.beam_options == ["--runner=X", "--num_workers=9", "-p"]
