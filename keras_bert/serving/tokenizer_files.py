"""Files from which programs in any language tokenize text as a preprocessor does."""

from pathlib import Path

import keras

from keras_bert.files.json_files import write_json
from keras_bert.messages import missing
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

try:
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
except ImportError as error:
    raise missing("tokenizers", "export") from error

_DIRECTIONS = {"head": "right", "tail": "left"}  # where tokens are removed; the format has no other


def write_tokenizer_files(preprocessor: BertPreprocessor, folder: Path) -> None:
    """Writes `tokenizer.json`, `vocab.txt` and `preprocessor.json`.

    Hugging Face `tokenizers` loads the first one, in Rust, Python, JavaScript and other languages.
    It adds [CLS] and [SEP], truncates to `sequence_length`, and pads a batch to its longest row.
    Texts that the task reads in windows, and those with truncation="head_tail", are not truncated.
    A pair of two long texts may keep one token more of the second than the preprocessor keeps.
    The last file is that of `save_to_preset`.
    """
    fast_tokenizer(preprocessor).save(str(folder / "tokenizer.json"))
    preprocessor.tokenizer.save_vocabulary(folder / "vocab.txt")
    name = keras.saving.get_registered_name(type(preprocessor))
    write_json(folder / "preprocessor.json", {"class": name, **preprocessor.settings()})


def fast_tokenizer(preprocessor: BertPreprocessor) -> tokenizers.Tokenizer:
    """Makes the tokenizer of a preprocessor as one of Hugging Face `tokenizers`."""
    own = preprocessor.tokenizer
    ids = {token: own.token_to_id(token) for token in own.get_vocabulary()}
    tokenizer = tokenizers.Tokenizer(
        models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=own.max_word_characters)
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=own.lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(token, ids[token]) for token in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.enable_padding(pad_id=ids["[PAD]"], pad_token="[PAD]")
    direction = _DIRECTIONS.get(preprocessor.truncation)
    has_windows = preprocessor.cuts_windows or not preprocessor.truncates
    if direction is not None and not has_windows:
        tokenizer.enable_truncation(preprocessor.sequence_length, direction=direction)
    return tokenizer
