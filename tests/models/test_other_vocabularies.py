"""Models with vocabularies of SentencePiece and of byte pairs: tokens, tasks, files, serving."""

import io
import json
import logging
import pickle
import re
import shutil

import keras
import numpy as np
import pytest

from keras_bert import (
    BertPreprocessor,
    BertPretrainer,
    BertTask,
    BertTokenizer,
    BytePairTokenizer,
    ModernBertBackbone,
    SentencePieceTokenizer,
    prepare_corpus,
)
from keras_bert.pictures import show_attention
from keras_bert.text.sentence_piece import MODEL_FILE, SPACES, TRAINER, decode_fields, encode_field

LANGUAGES = """The quick brown fox can't jump (over) 13 lazy dogs!
Der Fuchs überquert die Straße, sagt man.
Le renard a mangé l'œuf ; c'est fini.
El zorro cruzó la montaña en mayo. ¿Por qué?
Лиса перешла дорогу, и никто её не видел.
Η αλεπού πέρασε τον δρόμο.
عبر الثعلب الطريق في الليل.
สุนัขจิ้งจอกข้ามถนน
狐狸昨天穿过了马路。我们没有看见它。
लोमड़ी ने सड़क पार की।""".splitlines()
ODD = ["", " ", "  a  b ", "▁ x▁y", "ﬁne ＡＢＣ　ｶﾅ", "\x00a\x07"]
ODD += ["x\u200by\u00ad", "e\u0301é", "🙂🙂 \ufffd"]
ENGLISH = [
    "The quick brown fox can't jump (over) 13 lazy dogs!",
    "狐狸昨天 穿过了马路。",
    "ﬁne e\u0301 🙂",
]
ENGLISH += ["", " ", "  two  spaces ", "a b c d e f g", "\x00a\n\tb", "Ada, Lovelace's [mask]"]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    """A small SentencePiece model, trained as that of XLM-RoBERTa."""
    spm = pytest.importorskip("sentencepiece", reason="needs the extra sentencepiece")
    data, path = io.BytesIO(), tmp_path_factory.mktemp("model") / MODEL_FILE
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(LANGUAGES * 3 + ["a b c d e f g (b) [x, 7"] * 20),
        model_writer=data,
        vocab_size=400,
        hard_vocab_limit=False,
        model_type="unigram",
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    path.write_bytes(data.getvalue())
    return path


@pytest.fixture(scope="module")
def contents():
    """A small vocabulary of byte pairs, trained as that of RoBERTa."""
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
    pieces.train_from_iterator(ENGLISH * 3, trainer)
    model = json.loads(pieces.to_str())["model"]
    return {"vocab": {**model["vocab"], "<mask>": len(model["vocab"])}, "merges": model["merges"]}


@pytest.fixture(scope="module")
def byte_pairs(contents):
    return BytePairTokenizer(contents)


@pytest.fixture(scope="module")
def tokenizer(request):
    """A tokenizer of the family that the parameter names, by default XLM-RoBERTa."""
    family = getattr(request, "param", "xlm-roberta")
    if family == "roberta":
        return request.getfixturevalue("byte_pairs")
    return SentencePieceTokenizer(request.getfixturevalue("model_file"), family)


def of_families(*families):
    return pytest.mark.parametrize("tokenizer", families, indirect=True)


SAME_CODE = pytest.param("camembert", marks=pytest.mark.weekly)
of_each_kind = of_families("xlm-roberta", SAME_CODE, "roberta")


@pytest.fixture
def make_task(make_reading):
    def make(name, tokenizer):
        encoder = {"architecture": tokenizer.family, "num_segments": 1}
        return make_reading(name, tokenizer, vocabulary_size=tokenizer.vocabulary_size(), **encoder)

    return make


def odd_texts(number):
    generator = np.random.default_rng(7)
    points = [*range(0x3100), *range(0x4E00, 0x4E20), *range(0xF900, 0x10000), *range(32, 127)]
    pool = [chr(p) for p in points if not 0xD800 <= p < 0xE000] + [*"abc de .,'( "] * 100
    rows = generator.integers(0, len(pool), (number, 20))
    lengths = generator.integers(1, 20, number)
    return ["".join(pool[i] for i in row[:n]) for row, n in zip(rows, lengths, strict=True)]


@of_families("xlm-roberta", "camembert")
def test_special_tokens_have_the_places_of_their_family(tokenizer):
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    own = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"]
    tokens, begin = tokenizer.get_vocabulary(), first if tokenizer.family == "xlm-roberta" else own
    assert tokens[: len(begin)] == begin and tokens[-1] == "<mask>"
    ids = tokenizer.cls_token_id, tokenizer.pad_token_id, tokenizer.sep_token_id
    assert [tokens[i] for i in (*ids, tokenizer.unk_token_id)] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert tokenizer.tokenize("中" + "Ω")[-1] == tokenizer.unk_token_id
    assert tokenizer.detokenize(tokenizer.tokenize(LANGUAGES[:5])) == LANGUAGES[:5]
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.get_config() == tokenizer.get_config()


@of_families("xlm-roberta", "camembert")
def test_the_graph_has_the_tokens_of_python(tokenizer, tensorflow):
    from keras_bert.graph.tokenizer import graph_tokenizer

    texts = LANGUAGES + ODD + odd_texts(1000)
    ops = graph_tokenizer(tokenizer)
    texts += [b"ab\xe4\xbd cd", b"\xff\xfe"]
    expected = ops.tokenize_with_offsets(
        tensorflow.constant([text if isinstance(text, bytes) else text.encode() for text in texts])
    )
    found = tokenizer.tokenize_with_offsets(texts, unit="bytes")
    for theirs, ours in zip(expected, found, strict=True):
        assert theirs.to_list() == ours
    assert ops.tokenize(tensorflow.constant(texts)).to_list() == found[0]


def test_every_space_and_no_letter_is_left_out_of_places(tokenizer):
    points = [chr(point) for point in range(1, 0x10000) if not 0xD800 <= point < 0xE000]
    normalized = tokenizer._pieces.normalize([f"a{point}b" for point in points])
    gone = {c for c, text in zip(points, normalized, strict=True) if text in ("▁ab", "▁a▁b")}
    assert gone == {c for c in points if re.fullmatch(SPACES, c)}


@of_each_kind
def test_pairs_have_two_separators_and_no_segments(make_task, tokenizer):
    model = make_task("pairs", tokenizer)
    reader = model.preprocessor
    first, second = tokenizer(["a b", "c"])
    inputs = reader(["a b"], ["c"])
    sep = [tokenizer.sep_token_id]
    row = [tokenizer.cls_token_id, *first, *sep, *sep, *second, *sep]
    assert inputs["token_ids"].tolist() == [row + [tokenizer.pad_token_id] * (12 - len(row))]
    assert not inputs["segment_ids"].any() and inputs["padding_mask"].sum() == len(row)
    view = show_attention(model, "a b", "c")
    assert view.tokens == [tokenizer.get_vocabulary()[number] for number in row]
    long = "a b c d e f g " * 3
    [cut] = reader([long], [long])["token_ids"].tolist()
    assert len(cut) == 12 and cut.count(sep[0]) == 3 and cut[-1] == sep[0]


@pytest.mark.parametrize(
    ("tokenizer", "name"),
    [("xlm-roberta", "questions"), ("camembert", "tags")],
    indirect=["tokenizer"],
)
def test_the_served_model_answers_alike(make_task, tokenizer, cases, name, tensorflow, tmp_path):
    model, x = make_task(name, tokenizer), cases[name][1]
    served = tensorflow.saved_model.load(model.export(tmp_path / "served"))
    served = served.signatures["serving_default"]
    x = ["a b (c), it's 狐狸 d."] if name == "tags" else x
    names = model.preprocessor.signature
    columns = {n: [q[n] for q in x] if name == "questions" else x for n in names}
    found = served(**{n: tensorflow.constant(values) for n, values in columns.items()})
    key = {"tags": "entity_text", "questions": "answer"}[name]
    for row, answer in zip(found[key].numpy(), model.answer(x), strict=True):
        texts = [text.decode() for text in np.atleast_1d(row)]
        if name == "tags":  # rows of entities are padded
            texts = [text for text in texts if text]
        assert texts == [*np.atleast_1d(answer[key])]


@of_each_kind
def test_a_mask_includes_the_space_before_it(make_task, tokenizer):
    model = make_task("pretrainer", tokenizer)
    spaced, other = (model.fill_mask(text, top_k=3) for text in ("a [MASK] c", "a[MASK] c"))
    assert spaced == other and len(spaced[0]) == 3


def test_what_is_no_sentence_piece_model_is_refused(model_file, tmp_path, refused):
    (tmp_path / "bad.model").write_bytes(b"vocabulary")
    refused("it begins with b'vocabulary'", SentencePieceTokenizer, tmp_path / "bad.model")
    data = model_file.read_bytes()
    other = b"".join(
        whole.replace(b"</s>", b"<zz>") if number == 1 else whole
        for number, whole, _ in decode_fields(data)
    )
    refused("begins with <unk>, <s>, </s>; this one with", SentencePieceTokenizer, other)
    refused("family must be", SentencePieceTokenizer, model_file, "bert")
    by_bytes = data + encode_field(TRAINER, b"\x18\x02")
    refused("unigram models without byte_fallback", SentencePieceTokenizer, by_bytes)
    with_padding = data + encode_field(1, encode_field(1, b"<pad>"))
    refused("has <pad> itself", SentencePieceTokenizer, with_padding)
    config = {"vocabulary": str(model_file), "family": "xlm-roberta"}
    refused("must hold its vocabulary", SentencePieceTokenizer.from_config, config)


def test_folders_that_read_text_otherwise_are_refused(make_task, tokenizer, tmp_path, refused):
    model, theirs = make_task("classes", tokenizer), tmp_path / "theirs"
    model.save_to_preset(tmp_path / "preset")
    message = "a SentencePieceTokenizer, not a BertTokenizer"
    refused(message, BertTokenizer.from_preset, tmp_path / "preset")
    refused("leave lowercase out", BertTask.from_preset, tmp_path / "preset", lowercase=True)
    model.save_to_hugging_face(theirs)
    (theirs / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    (theirs / "modules.json").write_text('[{"type": "m.Transformer", "path": ""}]')
    refused("has a cased vocabulary", SentencePieceTokenizer.from_preset, theirs)
    (theirs / "modules.json").unlink()
    (theirs / MODEL_FILE).unlink()
    fast = json.loads((theirs / "tokenizer.json").read_text())
    for change, message in (
        ({"normalizer": {"type": "NFC"}}, "normalizes text with NFC and splits it"),
        ({"model": {"type": "Unigram", "vocab": {"a": 1}}}, "The tokenizer of .* can.t be used"),
    ):
        (theirs / "tokenizer.json").write_text(json.dumps({**fast, **change}))
        refused(message, lambda: BertTask.from_preset(theirs).answer("a"))


def test_a_bert_may_have_this_vocabulary(make_reading, tokenizer, tmp_path):
    model = make_reading("classes", tokenizer, vocabulary_size=tokenizer.vocabulary_size())
    model.save_to_hugging_face(tmp_path / "theirs")
    back = BertTask.from_preset(tmp_path / "theirs")
    assert back.preprocessor.tokenizer.family == tokenizer.family
    assert (back.backbone.architecture, back.backbone.num_segments) == ("bert", 2)


def test_a_corpus_has_the_tokens_of_bert(tokenizer, tmp_path, refused):
    (tmp_path / "a.txt").write_text("A text.")
    message = "tokens of a BertTokenizer .*; got SentencePieceTokenizer"
    refused(message, prepare_corpus, tmp_path / "a.txt", tmp_path / "corpus", tokenizer)


def test_texts_come_back_and_every_token_has_its_place(byte_pairs):
    assert byte_pairs.detokenize(byte_pairs.tokenize(ENGLISH)) == ENGLISH
    for text, ids, starts, ends in zip(
        ENGLISH, *byte_pairs.tokenize_with_offsets(ENGLISH), strict=True
    ):
        assert starts == sorted(starts)
        for id, start, end in zip(ids, starts, ends, strict=True):
            piece = byte_pairs.detokenize([id]).strip()
            if "\ufffd" not in piece:  # a part of a character
                assert text[start:end] == piece
    assert pickle.loads(pickle.dumps(byte_pairs)).get_config() == byte_pairs.get_config()
    bytes_ = byte_pairs.tokenize_with_offsets("ﬁ x", unit="bytes")[1:]
    assert (bytes_[0][-1], bytes_[1][-1]) == (4, 5)


def test_added_tokens_of_sentence_piece_stay_whole(model_file, make_task, tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    added = {"<num>": False, "[Ada]": False}
    own = SentencePieceTokenizer(model_file, added_tokens=added)
    model = make_task("classes", own)
    model.save_to_hugging_face(tmp_path / "theirs")
    model.save_to_preset(tmp_path / "preset")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "theirs" / "tokenizer.json"))
    theirs.no_truncation()
    models = [BertTask.from_preset(tmp_path / name) for name in ("theirs", "preset")]
    texts = ["a<num>b", "fox <num> [Ada]", "<num>", "<NUM>", "", "<num><num> [ada] a", *LANGUAGES]
    expected = [theirs.encode(text) for text in texts]
    alone = SentencePieceTokenizer.from_preset(tmp_path / "theirs")
    for tokenizer in (own, alone, *(each.preprocessor.tokenizer for each in models)):
        assert tokenizer.added_tokens == added
        assert tokenizer(texts) == [one.ids[1:-1] for one in expected]
    _, starts, ends = own.tokenize_with_offsets(texts[:2])
    assert texts[1][starts[1][-1] : ends[1][-1]] == "[Ada]"
    small = model.trim_vocabulary(texts).preprocessor.tokenizer
    names = [[tokenizer.id_to_token(i) for i in tokenizer(texts[1])] for tokenizer in (own, small)]
    assert names[0] == names[1] and "<num>" in names[0]
    if keras.backend.backend() == "tensorflow":
        from keras_bert.graph.tokenizer import graph_tokenizer

        graph = graph_tokenizer(own).tokenize_with_offsets(np.array(texts))
        for found, wanted in zip(graph, own.tokenize_with_offsets(texts, "bytes"), strict=True):
            assert found.to_list() == wanted


def test_added_tokens_stay_whole(contents, make_task, tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    vocab = {**contents["vocab"], "<num>": len(contents["vocab"])}
    own = BytePairTokenizer({**contents, "vocab": vocab, "added_tokens": ["<num>"], "nfc": True})
    make_task("classes", own).save_to_hugging_face(tmp_path)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    back = BertTask.from_preset(tmp_path).preprocessor.tokenizer
    for text in ("a<num>b", "fox <num> fox", "<num>", "<NUM>", "e\u0301 fox"):
        ids = theirs.encode(text).ids[1:-1]
        assert own(text) == back(text) == ids
        assert (ids.count(vocab["<num>"]) == 1) == ("<num>" in text)
    assert own("e\u0301") == own("é") != BytePairTokenizer(contents)("e\u0301")
    assert own.tokenize_with_offsets("e\u0301 fox")[2][-1] == 6


def test_words_in_a_text_have_the_tokens_of_words_alone(byte_pairs):
    ids, lengths = byte_pairs.ids_of_words(["fox", "lazy"])
    assert ids.tolist() == byte_pairs.tokenize(" fox lazy")
    assert lengths.tolist() == [*map(len, byte_pairs.tokenize([" fox", " lazy"]))]


def test_entities_are_words_without_their_spaces(make_task, byte_pairs):
    model = make_task("tags", byte_pairs)
    text = "Ada, (Lovelace's)  fox"
    model.predict_on_batch = lambda x: np.full((*x["token_ids"].shape, 3), [0, 9, 0], "float32")
    [answer] = model.answer([text])
    assert "".join(answer["entity_text"]).replace(" ", "") == text.replace(" ", "")
    assert all(found == found.strip() for found in answer["entity_text"])


def test_a_first_word_may_have_the_token_of_one_after_a_space(contents, make_task, tmp_path):
    spaced = BytePairTokenizer({**contents, "add_prefix_space": True})
    model = make_task("classes", spaced)
    tokenize = spaced.tokenize
    assert tokenize("fox") == tokenize(" fox") == BytePairTokenizer(contents).tokenize(" fox")
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "theirs")
    for folder in ("preset", "theirs"):
        assert BytePairTokenizer.from_preset(tmp_path / folder).tokenize("fox") == tokenize("fox")


def test_the_served_model_takes_token_ids(
    make_task, byte_pairs, tensorflow, tmp_path, caplog, refused
):
    model = make_task("classes", byte_pairs)
    with caplog.at_level(logging.WARNING, "keras_bert"):
        path = model.export(tmp_path / "served")
    assert "takes token ids, no raw strings" in caplog.text
    served = tensorflow.saved_model.load(path).signatures
    assert served.keys() == {"serving_default", "token_ids"}
    inputs = {n: tensorflow.constant(v) for n, v in model.preprocessor(["a b"]).items()}
    label = served["serving_default"](**inputs)["label"].numpy()[0].decode()
    assert label == model.answer("a b")["label"]
    dataset = tensorflow.data.Dataset.from_tensor_slices((["a", "b"], [0, 1])).batch(2)
    refused("no ops for a BytePairTokenizer: give texts in memory", model.fit, dataset)


def test_what_are_no_byte_pairs_is_refused(make_task, byte_pairs, contents, tmp_path, refused):
    vocab, merges = contents["vocab"], contents["merges"]
    refused("ids are 0, 1, 2 .* and merges; got", BytePairTokenizer, {"vocab": vocab})
    refused("and merges; got", BytePairTokenizer, {})
    gap = {**vocab, "<mask>": 999}
    refused("ids are 0, 1, 2", BytePairTokenizer, {"vocab": gap, "merges": merges})
    few = {token: i for i, token in enumerate(t for t in vocab if t != "</s>")}
    pairs = [pair for pair in merges if "".join(pair) in few]
    refused("tokens lacks </s>", BytePairTokenizer, {"vocab": few, "merges": pairs})
    refused("must hold its vocabulary", BytePairTokenizer.from_config, {"vocabulary": "a.json"})
    model = make_task("classes", byte_pairs)
    refused("a BytePairTokenizer can't be trimmed", model.trim_vocabulary, ["a"])
    model.save_to_hugging_face(tmp_path / "theirs")
    path = tmp_path / "theirs/tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": {"type": "NFKC"}}))
    message = "splits text with ByteLevel after NFKC"
    refused(message, lambda: BertTask.from_preset(tmp_path / "theirs").answer("a"))


@pytest.mark.parametrize(
    ("tokenizer", "name"),
    [
        *(("xlm-roberta", name) for name in ("pairs", "windows", "tags", "questions", "choices")),
        ("camembert", "tags"),  # its ids differ, its code doesn't
        *(("roberta", name) for name in ("tags", "questions")),
    ],
    indirect=["tokenizer"],
)
def test_every_task_answers_after_saving_and_trimming(
    make_task, tokenizer, cases, name, untraced, assert_same, tmp_path
):
    model, x = make_task(name, tokenizer), cases[name][1]
    answers, small = model.answer(x), model
    if tokenizer.family != "roberta":
        small = model.trim_vocabulary(x)
        assert small.backbone.vocabulary_size < model.backbone.vocabulary_size
        assert_same(untraced(small).answer(x), answers)
    small.save_to_preset(tmp_path / "small")
    assert_same(untraced(BertTask.from_preset(tmp_path / "small")).answer(x), answers)
    model.save(tmp_path / "model.keras")
    assert_same(untraced(keras.saving.load_model(tmp_path / "model.keras")).answer(x), answers)


@of_each_kind
def test_hugging_face_folders_come_and_go(
    make_task, tokenizer, untraced, assert_same, tmp_path, caplog
):
    model, family = make_task("classes", tokenizer), tokenizer.family
    answers = model.answer(["a b", "c (x)"])
    model.save_to_hugging_face(tmp_path / "ours")
    assert json.loads((tmp_path / "ours/config.json").read_text())["model_type"] == family
    added = json.loads((tmp_path / "ours/tokenizer.json").read_text())["added_tokens"]
    assert [t["content"] for t in added if t["lstrip"]] == ["<mask>"]
    shutil.copytree(tmp_path / "ours", tmp_path / "other")
    # Newer versions of transformers write no model file, older ones no tokenizer.json.
    (tmp_path / "other" / ("tokenizer.json" if family == "roberta" else MODEL_FILE)).unlink()
    texts = LANGUAGES + ODD + ENGLISH + odd_texts(300)
    for folder in ("ours", "other"):
        back = BertTask.from_preset(tmp_path / folder)
        assert_same(untraced(back).answer(["a b", "c (x)"]), answers)
        found = type(tokenizer).from_preset(tmp_path / folder)
        assert found.tokenize(texts) == tokenizer.tokenize(texts)
    if family == "roberta":
        return
    settings = json.loads((tmp_path / "other/tokenizer_config.json").read_text())
    settings["tokenizer_class"] = "TokenizersBackend"
    settings["added_tokens_decoder"] = {"999": {"content": "<query>"}}
    (tmp_path / "other/tokenizer_config.json").write_text(json.dumps(settings))
    with caplog.at_level(logging.WARNING, "keras_bert"):
        assert BertTask.from_preset(tmp_path / "other").preprocessor.tokenizer.family == family
    assert "<query> were added to the vocabulary as unsplit tokens; Sentence" in caplog.text


@pytest.mark.slow
@of_each_kind
def test_transformers_reads_and_answers_as_ours(
    make_task, tokenizer, torch, transformers, assert_close, tmp_path
):
    model, family = make_task("pairs", tokenizer), tokenizer.family
    model.save_to_hugging_face(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    kinds = {"xlm-roberta": "XLMRoberta", "camembert": "Camembert", "roberta": "Roberta"}
    assert type(theirs).__name__ == f"{kinds[family]}Tokenizer"

    def differing(texts):
        ids = theirs(texts, add_special_tokens=False)["input_ids"]
        return [text for text, a in zip(texts, ids, strict=True) if a != tokenizer(text)]

    assert not differing(LANGUAGES + ODD + ENGLISH)
    points = [chr(point) for point in range(1, 0x11000) if not 0xD800 <= point < 0xE000]
    spaces = ["a\x85b \x85"] if family != "roberta" else []  # a space in Rust
    assert differing([f"a{c}b {c}" for c in points]) == spaces
    odd = odd_texts(5000)
    differ = differing(odd)
    print(f"{family}: {len(differ)} of {len(odd)} odd texts differ")
    assert len(differ) < 0.002 * len(odd)  # marks that combine to one letter across characters
    texts = ["a b c d", "狐狸 x", "e"], ["b", "", "Лиса перешла дорогу, и никто её не видел."]
    given = theirs(*texts, padding=True, truncation=True, max_length=12, return_tensors="pt")
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert type(network).__name__ == f"{kinds[family]}ForSequenceClassification"
    with torch.no_grad():
        expected = torch.softmax(network(**given).logits, -1).numpy()
    found = np.array([answer["probabilities"] for answer in model.answer(texts)])
    assert_close(found, expected, size=1)


def test_tokens_of_modernbert_are_those_of_its_folder(contents, untraced, tmp_path, refused):
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    own = [name for name in contents["vocab"] if name not in ("<mask>", "<s>", "</s>", "<unk>")]
    merges = [tuple(pair) for pair in contents["merges"]]
    pieces = tokenizers.Tokenizer(
        tokenizers.models.BPE({name: index for index, name in enumerate(own)}, merges)
    )
    pieces.normalizer = tokenizers.normalizers.NFC()
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = tokenizers.decoders.ByteLevel()
    spaces = [tokenizers.AddedToken(" " * n, normalized=True) for n in range(6, 1, -1)]
    pieces.add_tokens([*spaces, "|||EMAIL_ADDRESS|||", "[unused0]"])
    pieces.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[PAD]"])
    pieces.add_special_tokens([tokenizers.AddedToken("[MASK]", lstrip=True, special=True)])
    (tmp_path / "theirs").mkdir()
    pieces.save(str(tmp_path / "theirs" / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 8192}
    (tmp_path / "theirs" / "tokenizer_config.json").write_text(json.dumps(settings))
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = {"model_type": "modernbert", "vocab_size": pieces.get_vocab_size(), **sizes}
    (tmp_path / "theirs" / "config.json").write_text(json.dumps(config))

    tokenizer = BytePairTokenizer.from_preset(tmp_path / "theirs")
    added = ["a    b", "x |||EMAIL_ADDRESS||| y", "[unused0]  z", "e\u0301  é      g"]
    texts = [*LANGUAGES, *ODD, *ENGLISH, *added, *odd_texts(200)]
    expected = pieces.encode_batch(texts, add_special_tokens=False)
    assert tokenizer.tokenize(texts) == [row.ids for row in expected]
    assert tokenizer.tokenize("|||EMAIL_ADDRESS|||") == [pieces.token_to_id("|||EMAIL_ADDRESS|||")]
    sizes = {"hidden_dim": 16, "intermediate_dim": 24}
    backbone = ModernBertBackbone(tokenizer.vocabulary_size(), 2, 2, **sizes)
    reader = BertPreprocessor(tokenizer, sequence_length=64)
    task = untraced(BertPretrainer(backbone, next_sentence=False, preprocessor=reader))
    ids = reader(["a b"], ["c"])["token_ids"][0].tolist()
    words = [tokenizer.cls_token_id, *pieces.encode("a b").ids, tokenizer.sep_token_id]
    words += [*pieces.encode("c").ids, tokenizer.sep_token_id]
    assert ids[: len(words)] == words
    task.save_to_hugging_face(tmp_path / "ours")
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "ours" / "tokenizer.json"))
    assert written.encode("a b", "c").ids == words
    assert written.encode("a [MASK] c").ids[2] == tokenizer.mask_token_id
    task.save_to_preset(tmp_path / "preset")
    for folder in ("ours", "preset"):
        again = untraced(BertTask.from_preset(tmp_path / folder))
        assert again.preprocessor.tokenizer.tokenize(texts) == tokenizer.tokenize(texts)
        assert again.fill_mask("a [MASK] c") == task.fill_mask("a [MASK] c")
    refused(r"lacks \[PAD\]", BytePairTokenizer, contents, "modernbert")
