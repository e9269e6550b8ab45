"""Vocabularies learned from small texts."""

import functools
import importlib
import json
import os
import pydoc_data.topics
import random

import pytest

from keras_bert.corpus import corpus_plan
from keras_bert.corpus.corpus_plan import find_inputs, plan_slices
from keras_bert.corpus.documents import Settings
from keras_bert.corpus.learn_vocabulary import learn_vocabulary
from keras_bert.reports import Reports
from keras_bert.text import train_wordpieces
from keras_bert.text.tokenizer import BertTokenizer

module = importlib.import_module("keras_bert.corpus.learn_vocabulary")


@pytest.fixture(scope="module")
def prose(tmp_path_factory):
    path = tmp_path_factory.mktemp("prose") / "topics.txt"
    path.write_text("\n\n".join(pydoc_data.topics.topics.values()), encoding="utf-8")
    return path


def learn(inputs, size, **options):
    return learn_vocabulary(inputs, size, **{"num_workers": 1, "progress": False, **options})


def count_words(*inputs):
    slices = plan_slices(find_inputs(inputs, Reports()), Settings())
    work = functools.partial(module._count_slice, settings=Settings(), lowercase=True)
    return module._count_words(slices, work, 2, 1, Reports(), False)


def test_pieces_are_merged_by_frequency(write):
    # By hand: "##u" + "##g" 20 times, "##u" + "##n" 16, "h" + "##ug" 15, "p" + "##un" 12.
    words = ["hug"] * 10 + ["pug"] * 5 + ["pun"] * 12 + ["bun"] * 4 + ["hugs"] * 5
    random.Random(1).shuffle(words)
    path = write("\n".join(words))
    vocabulary = learn(path, 17)
    assert vocabulary[5:13] == ["b", "g", "h", "n", "p", "s", "u", "##g"]
    assert vocabulary[13:] == ["##n", "##s", "##u", "##ug"]
    assert learn(path, 20)[17:] == ["##un", "hug", "pun"]
    # Rare characters are left out with their words.
    assert learn(write("ab ab ab ab ax ax"), 8, max_characters=2)[5:] == ["a", "b", "##b"]


@pytest.mark.slow
def test_the_same_text_gives_the_same_vocabulary_in_every_process(prose, run_python):
    program = (
        "import json, sys; from keras_bert.corpus import corpus_plan;"
        "from keras_bert.corpus.learn_vocabulary import learn_vocabulary;"
        "corpus_plan.MIN_SLICE_BYTES = 50_000;"
        "print(json.dumps(learn_vocabulary(sys.argv[1], 3000, num_workers=2, progress=False)))"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    said = run_python("-c", program, prose, PYTHONHASHSEED=seed, RAYON_NUM_THREADS="1")
    vocabulary = learn(prose, 3000)
    assert json.loads(said.splitlines()[-1]) == vocabulary
    assert learn(prose, 3000) == vocabulary  # the trainer's hash tables have seeds of their own
    assert len(set(vocabulary)) == 3000 and {"[MASK]", "the", "function"} <= set(vocabulary)
    tokenizer = BertTokenizer(vocabulary)
    ids, _ = tokenizer.flat_ids(list(pydoc_data.topics.topics.values()))
    assert tokenizer.unk_token_id not in ids


def test_words_are_normalized_as_the_tokenizer_does_and_too_few_are_told(write, capsys):
    text = "\ufeffÉcole ÉCOLE e\u0301cole ΟΔΟΣ ΟΔΟΣ 中文\r\n½™ ½™ a\u00adb ab \ufffd"
    path = write(text.encode() + b"\xff ab")
    broken = rf"1 invalid byte sequences, dropped \({path}, byte 74\)"
    with pytest.warns(match=r"the vocabulary has \d+ tokens"), pytest.warns(match=broken):
        vocabulary = learn(path, 60)
    assert {"ecole", "οδος", "½™", "ab", "中", "文"} <= set(vocabulary)
    assert not {"##文", "É", "é", "\ufeff", "\ufffd"} & set(vocabulary)
    cased = learn(path, 60, lowercase=False, min_frequency=1, progress=True)
    assert {"École", "ÉCOLE", "ΟΔΟΣ"} <= set(cased)
    assert f"note: 1 invalid byte sequences, dropped ({path}" in capsys.readouterr().out


def test_texts_end_between_words_and_lose_only_rare_ones(prose, monkeypatch):
    expected = train_wordpieces.count_words(prose.read_text("utf-8"), lowercase=True)
    monkeypatch.setattr("keras_bert.corpus.text_files.BLOCK_BYTES", 1000)
    monkeypatch.setattr(corpus_plan, "MIN_SLICE_BYTES", 10_000)
    monkeypatch.setattr(module, "BLOCK_BYTES", 500)
    assert len(plan_slices(find_inputs(prose, Reports()), Settings())) > 5
    assert count_words(prose) == expected
    monkeypatch.setattr(module, "_MAX_DISTINCT_WORDS", 1500)
    counts = count_words(prose)
    assert len(counts) < 3000 and counts["the"] > 1000


def test_counts_that_would_overflow_the_trainer_are_scaled(prose, monkeypatch):
    exact = learn(prose, 600)
    monkeypatch.setattr(train_wordpieces, "_MAX_COUNT", 20_000)
    assert len(set(exact) & set(learn(prose, 600))) > 500


WRONG = [
    ("\u200b\ufffd \n", {}, r"no words to learn from in .*a\.txt"),
    ("ab cd", {"max_characters": 1}, "longer than 200.*the 1 most frequent"),
    ("low", {"size": 5}, "vocabulary_size must be at least 6; got 5"),
    ("abcdefgh", {"size": 9}, "vocabulary_size=9 is too small: give at least"),
]


def test_texts_without_words_and_small_sizes_are_refused(write, refused):
    for text, settings, message in WRONG:
        refused(message, learn, write(text), **{"size": 100, **settings})
