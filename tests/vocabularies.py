"""Small files `tokenizer.json`, as published models have them, and texts to compare tokens on."""

import json

import numpy as np
import pytest

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
ODD = ["", " ", "  a  b ", "▁ x▁y", "ﬁne ＡＢＣ　ｶﾅ", "\x00a\n\tb\x07"]
ODD += ["x\u200by\u00ad", "e\u0301é", "🙂🙂 \ufffd", "a    b", "x <num>y [MASK]"]
TRAINING = LANGUAGES * 3 + ["a b c d e f g (b) [x, 7"] * 20
ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
BERT = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")


def odd_texts(number):
    generator = np.random.default_rng(7)
    points = [
        *range(0x3100),
        *range(0x4E00, 0x4E20),
        *range(0xF900, 0x10000),
        *range(32, 127),
    ]
    pool = [chr(p) for p in points if not 0xD800 <= p < 0xE000] + [*"abc de .,'( "] * 100
    rows = generator.integers(0, len(pool), (number, 20))
    lengths = generator.integers(1, 20, number)
    return ["".join(pool[i] for i in row[:n]) for row, n in zip(rows, lengths, strict=True)]


def byte_pairs(special=ROBERTA, nfc=False, texts=TRAINING):
    """As RoBERTa's; as ModernBERT's with BERT's special tokens and NFC."""
    tokenizers = pytest.importorskip("tokenizers")
    level = tokenizers.pre_tokenizers.ByteLevel
    pieces = tokenizers.Tokenizer(tokenizers.models.BPE())
    pieces.normalizer = tokenizers.normalizers.NFC() if nfc else None
    pieces.pre_tokenizer = level(add_prefix_space=False)
    pieces.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=list(special[:4]),
        initial_alphabet=level.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator(texts, trainer)
    return finished(pieces, special)


def unigrams(tokens=()):
    """As XLM-RoBERTa's, but for the table of characters; of equally probable tokens, if given."""
    tokenizers = pytest.importorskip("tokenizers")
    vocab = [
        *((token, 0.0) for token in ROBERTA[:4]),
        *((token, -1.0) for token in tokens),
    ]
    pieces = tokenizers.Tokenizer(tokenizers.models.Unigram(vocab, 3, False))
    pieces.normalizer = tokenizers.normalizers.NFKC()
    with_metaspaces(pieces)
    if tokens:
        return finished(pieces, ROBERTA)
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=250,
        special_tokens=list(ROBERTA[:4]),
        unk_token="<unk>",
        show_progress=False,
    )
    pieces.train_from_iterator(TRAINING, trainer)
    return finished(pieces, ROBERTA)


def with_metaspaces(pieces):
    from tokenizers import decoders, pre_tokenizers

    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    pieces.pre_tokenizer = pre_tokenizers.Sequence(words)
    pieces.decoder = decoders.Metaspace()
    return pieces


def composed_wordpieces(tokens, lowercase=False):
    """WordPiece after NFC, which BERT's tokenizer doesn't do."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    ids = {token: index for index, token in enumerate(tokens)}
    pieces = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    steps = [normalizers.NFC(), normalizers.BertNormalizer(True, True, False, lowercase)]
    pieces.normalizer = normalizers.Sequence(steps)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece()
    return finished(pieces, BERT)


def finished(pieces, special):
    """Adds the special tokens, an added one, and rows of one text and of two."""
    from tokenizers import AddedToken, processors

    pieces.add_special_tokens([*special[:4], AddedToken(special[4], lstrip=True)])
    pieces.add_tokens(["<num>"])
    cls, sep = special[0], special[2]
    between = f"{sep} {sep}" if cls == "<s>" else sep
    pieces.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {between} $B {sep}",
        special_tokens=[(token, pieces.token_to_id(token)) for token in (cls, sep)],
    )
    return pieces.to_str().encode()


def changed(data, **changes):
    """Returns a file with other values."""
    return json.dumps({**json.loads(data), **changes}).encode()
