"""recipes/learn_vocabulary.py and recipes/prepare_corpus.py, as a person runs them."""

import keras_bert


def test_a_learned_vocabulary_or_that_of_a_preset_prepares_a_corpus(
    recipe, preset, tmp_path, capsys
):
    text, vocabulary = tmp_path / "text.txt", tmp_path / "new" / "vocab.txt"
    text.write_text("PART\nthe low, the lower, the lowest.\n" * 5)
    learn, module = recipe("learn_vocabulary").main, recipe("prepare_corpus")
    learn([str(text), "--output", str(vocabulary), "--vocabulary_size", "30"])
    assert f"30 tokens in {vocabulary}" in capsys.readouterr().out
    for source, unknown in ((vocabulary, "0.00%"), (preset, "33.33%")):
        output = tmp_path / source.stem
        options = [str(text), "--vocabulary", str(source), "--output", str(output)]
        module.main([*options, "--document_separator", "^PART$"])
        keras_bert.Corpus(output).check_tokenizer(keras_bert.BertTokenizer.from_preset(source))
        printed = capsys.readouterr().out
        assert "documents: 5, sentences: 5," in printed and f"[UNK]: {unknown}," in printed
    args = module.parse_args([*options, "--runner", "X", "--num_workers", "9", "-p"])
    assert args.beam_options == ["--runner=X", "--num_workers=9", "-p"]
