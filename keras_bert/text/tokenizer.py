"""`BertTokenizer`: Google's `tokenization.py`, in Python and NumPy."""

import os
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from keras_bert.messages import check_int, check_one_of, shown
from keras_bert.text.added_tokens import AddedTokens
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.vocabulary import SPECIAL_TOKENS_OF, ascii_words, read_vocabulary
from keras_bert.text.wordpieces import Wordpieces


class BertTokenizer(Tokenizer):
    """WordPiece tokenizer that produces the original BERT's tokens.

    It removes control characters and puts spaces around CJK characters. With `lowercase`, it
    lower-cases letters and strips accents. It splits words at spaces and punctuation, and cuts
    each word greedily into the longest pieces of the vocabulary. A word that can't be cut, or has
    more than `max_word_characters` characters, becomes one [UNK]. A literal "[MASK]" in a text is
    three words. Bytes that are not UTF-8 are skipped. The Unicode version is the running Python's;
    an exported SavedModel keeps it. The tokens of chunks between spaces are cached: the first texts
    take longer.

    Source: `FullTokenizer` in google-research/bert `tokenization.py`.

    Args:
        vocabulary: path of a vocab.txt (UTF-8, one token per line), local or remote; or a list of
            str. It must hold [PAD], [UNK], [CLS], [SEP] and [MASK], in any order.
        lowercase: bool, `True` for uncased vocabularies, `False` for cased ones.
        max_word_characters: int; longer words become [UNK].
        family: `"mpnet"` for MPNet's vocabulary, whose special tokens are `<pad>`, `[UNK]`, `<s>`,
            `</s>` and `<mask>`, and whose pairs are `<s> A </s> </s> B </s>`; None for BERT's.
        strip_accents: bool; False keeps the accents of letters that are lower-cased, for
            vocabularies that have them, such as those of German ELECTRAs.
        added_tokens: dict of tokens of the vocabulary that stay whole wherever a text has them,
            within words, too, to whether they are found in any case: `{"[user]": False}`.
        strip_private_use: bool; True deletes characters of private use, such as bullets of PDF
            files, as Hugging Face's tokenizers do. Google's keeps them, and so do its folders.

    Call arguments:
        text: str or bytes; or texts of any shape, as a list, an array or a column of a table.

    Returns:
        A list of int ids for one text, nested lists for several.

    Raises:
        ValueError: if the vocabulary is invalid or lacks a special or an added token, or if the
            texts are not strings.
        OSError: if the vocabulary can't be read.

    Example:
    >>> special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    >>> tokenizer = BertTokenizer(special + ["un", "##aff", "##able", "!"])
    >>> tokenizer
    BertTokenizer(9 tokens, lowercase=True)
    >>> tokenizer(["Unaffable!", "what?"])
    [[5, 6, 7, 8], [1, 1]]
    >>> tokenizer.detokenize([5, 6, 7, 8])
    'unaffable !'
    """

    asset = "vocab.txt"
    setting_names = (
        "lowercase",
        "max_word_characters",
        "family",
        "strip_accents",
        "added_tokens",
        "strip_private_use",
    )
    splits_at_spaces = True

    def __init__(
        self,
        vocabulary: str | os.PathLike | Sequence[str],
        lowercase: bool = True,
        max_word_characters: int = 200,
        family: str | None = None,
        strip_accents: bool = True,
        added_tokens: Mapping[str, bool] | None = None,
        strip_private_use: bool = False,
    ):
        check_one_of("family", family, tuple(SPECIAL_TOKENS_OF))
        check_int("max_word_characters", max_word_characters)
        added_tokens = {} if added_tokens is None else added_tokens
        if not isinstance(added_tokens, Mapping):
            raise ValueError(
                "added_tokens must be a dict of tokens to whether they are found in any case, "
                f'such as {{"[user]": False}}; got {shown(added_tokens)}.'
            )
        self.lowercase = bool(lowercase)
        self.strip_accents = bool(strip_accents)
        self.strip_private_use = bool(strip_private_use)
        self.added_tokens = dict(added_tokens)
        self.max_word_characters = int(max_word_characters)
        self.family = family
        self.num_separators = 2 if family else 1
        super().__init__(vocabulary)
        if self._saved is None:
            self._warn_of_other_casing()

    @property
    def special(self) -> Sequence[str]:
        return SPECIAL_TOKENS_OF[self.family]

    def read(self, vocabulary: str | os.PathLike | Sequence[str]) -> list[str]:
        tokens = read_vocabulary(vocabulary, (*self.special, *self.added_tokens))
        self._cutter = Wordpieces(
            tokens,
            self.lowercase,
            self.max_word_characters,
            self.strip_accents,
            self.strip_private_use,
        )
        if self.added_tokens:
            self._cutter = AddedTokens(self.added_tokens, tokens, self._cutter)
        return tokens

    def contents(self) -> list[str]:
        return self.get_vocabulary()

    def flat_ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self._cutter.ids(texts)

    def flat_ids_with_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        return self._cutter.ids_and_offsets(texts)

    @classmethod
    def from_preset(
        cls, source: str | os.PathLike, lowercase: bool | None = None
    ) -> "BertTokenizer":
        """Loads the tokenizer of a preset or of published weights.

        Args:
            source: any source that `BertTask.from_preset` accepts whose model reads WordPieces, or
                a vocab.txt. From the Hugging Face hub, only the small files are downloaded.
            lowercase: bool; overrides the source's casing if it is missing or wrong.

        Raises:
            ValueError: if the source is unknown, or has no vocabulary or one of another kind.

        Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "vocab.txt")
        >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so"])
        >>> tokenizer.save_vocabulary(path)
        >>> BertTokenizer.from_preset(path, lowercase=True)
        BertTokenizer(6 tokens, lowercase=True)
        """
        from keras_bert.presets.preprocessors import load_tokenizer

        return load_tokenizer(cls, source, lowercase)

    def with_words(self, words: Sequence[str]) -> "BertTokenizer":
        """Returns a tokenizer with more words, each a token with an id after all others."""
        settings = self.settings()
        tokens = [*self._tokens, *words]
        grown = BertTokenizer(tokens, **settings)
        split = [word for word in words if grown(word) != [grown.token_to_id(word)]]
        settings["added_tokens"] = self.added_tokens | dict.fromkeys(split, self.lowercase)
        return BertTokenizer(tokens, **settings)

    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens).replace(" ##", "")

    def _warn_of_other_casing(self):
        words = ascii_words(self._tokens)
        lower = sum(token.islower() for token in words)
        upper = sum(token != token.lower() for token in words)
        if self.lowercase and upper > 20 and upper > 0.05 * lower:
            reason = f"{upper} of its tokens hold capital letters"
        elif not self.lowercase and lower > 1000 and upper < 0.001 * lower:
            reason = "its tokens hold no capital letters"
        else:
            return
        warnings.warn(
            f"lowercase={self.lowercase}, but {reason}: most words will be [UNK] or badly cut. "
            f"The vocabulary looks made for lowercase={not self.lowercase}.",
            stacklevel=3,
        )
