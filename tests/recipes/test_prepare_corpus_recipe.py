"""recipes/prepare_corpus.py, as a person runs it."""

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
    return [
        str(books),
        *("--vocabulary", str(tmp_path / "vocab.txt"), "--output", str(tmp_path / "corpus")),
    ]


def test_the_recipe_writes_a_corpus_that_pretraining_reads(recipe, arguments, tmp_path, capsys):
    recipe("prepare_corpus").main([*arguments, "--document_separator", "^PART$"])
    assert (
        "documents: 12, sentences: 24, tokens: 72, [UNK]: 0.00%, longest" in capsys.readouterr().out
    )
    dataset = keras_bert.pretraining_dataset(
        tmp_path / "corpus", batch_size=2, sequence_length=16, epochs=1
    )
    x, y, _ = next(iter(dataset))
    assert x["token_ids"].shape == (2, 16) and set(y) == {"masked_lm", "next_sentence"}


def test_the_vocabulary_may_be_that_of_a_preset(recipe, arguments, preset, tmp_path):
    arguments[2] = str(preset)
    recipe("prepare_corpus").main(arguments)
    corpus = keras_bert.Corpus(tmp_path / "corpus")
    tokenizer = keras_bert.BertTokenizer.from_preset(preset)
    corpus.check_tokenizer(tokenizer)


def test_arguments_of_a_runner_need_a_runner(recipe, arguments, capsys):
    args = recipe("prepare_corpus").parse_args([*arguments, "--runner", "X", "--project", "p"])
    assert args.beam_options == ["--runner=X", "--project", "p"]
    with pytest.raises(SystemExit):
        recipe("prepare_corpus").main([*arguments, "--sede", "1"])
    assert "unknown arguments: --sede 1" in capsys.readouterr().err
