"""Files from which programs in any language tokenize text as a preprocessor does."""

from pathlib import Path

import keras
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from keras_bert.files.json_files import write_json
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "preprocessor.json")


def write_tokenizer_files(preprocessor: BertPreprocessor, folder: Path) -> None:
    """Writes `tokenizer.json`, `vocab.txt` and `preprocessor.json`.

    Hugging Face `tokenizers` loads the first one, in Rust, Python, JavaScript and other languages.
    It adds [CLS] and [SEP], and neither cuts nor pads. The last one is that of `save_to_preset`:
    `sequence_length`, `label_names` and the task's other settings.

    Args:
        preprocessor: the preprocessor of the exported model.
        folder: an existing local folder.
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
    return tokenizer
