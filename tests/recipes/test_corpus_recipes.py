"""recipes/learn_vocabulary.py and recipes/prepare_corpus.py, as a person runs them."""

import keras_bert

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *"one two three four".split()]


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


def test_a_corpus_has_the_vocabulary_of_a_file_or_of_a_preset(recipe, preset, tmp_path, capsys):
    module, books, vocabulary = recipe("prepare_corpus"), tmp_path / "books", tmp_path / "vocab.txt"
    books.mkdir()
    for number in range(6):
        text = "PART\nOne two. Three four.\nPART\nFour three two. One.\n"
        (books / f"{number}.txt").write_text(text)
    vocabulary.write_text("\n".join(VOCABULARY) + "\n")
    for source in (vocabulary, preset):
        output = str(tmp_path / source.stem)
        options = [str(books), "--vocabulary", str(source), "--output", output]
        module.main([*options, "--document_separator", "^PART$"])
    tokenizer = keras_bert.BertTokenizer.from_preset(preset)
    keras_bert.Corpus(output).check_tokenizer(tokenizer)
    shown = "documents: 12, sentences: 24, tokens: 72, [UNK]: 0.00%, longest"
    assert shown in capsys.readouterr().out
    beam = ["--runner", "X", "--num_workers", "9", "-p"]
    args = module.parse_args([*options, *beam])
    assert args.beam_options == ["--runner=X", "--num_workers=9", "-p"]
