"""A second tokenizer for the tests: the rules of BERT's tokenization.py, one after another."""

import re
import string
import unicodedata

SPECIAL = "[PAD] [UNK] [CLS] [SEP] [MASK]".split()
CJK = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df"
    "\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)


def combining_class(item):
    return unicodedata.combining(item[0])


class RuleByRuleTokenizer:
    """Slow, plain, and with nothing in common with the library's.

    A text is a list of [letters, span], and a span is [start, end, reach] in bytes of the original,
    shared by all that one character became. Deleted characters lie between `end` and `reach`.
    """

    def __init__(self, vocabulary, lowercase, max_word_characters=200):
        self.ids = {token.strip(): index for index, token in enumerate(vocabulary)}
        self.lowercase = lowercase
        self.max_word_characters = max_word_characters

    def __call__(self, text):
        """Returns [(id, start, end), ...] of bytes or str."""
        data = text.encode() if isinstance(text, str) else text
        words = self.split_at_spaces(self.clean(data))
        if self.lowercase:
            before = None
            for at, word in enumerate(words):
                adjacent = before and before[1][2] == word[0][1][0]
                words[at] = word = self.lower(word, before if adjacent else None)
                before = word[-1] if word else before
        return [
            piece
            for word in words
            for part in self.split_at_punctuation(word)
            for piece in self.cut(part)
        ]

    def clean(self, data):
        end, kept = 0, []
        for letter in data.decode(errors="surrogateescape"):
            is_broken = "\udc80" <= letter <= "\udcff"  # a byte that is no UTF-8
            start, end = end, end + (1 if is_broken else len(letter.encode()))
            category = unicodedata.category(letter)
            if letter in " \t\n\r" or category == "Zs":
                kept.append([" ", [start, end, end]])
            elif is_broken or letter in "\0\ufffd" or category in ("Cc", "Cf"):
                if kept:
                    kept[-1][1][2] = end
            else:
                kept.append([letter, [start, end, end]])
        return kept

    def split_at_spaces(self, text):
        words = [[]]
        for item in text:
            if item[0].isspace():
                words.append([])
            elif CJK.match(item[0]):
                words += [[item], []]
            else:
                words[-1].append(item)
        return [word for word in words if word]

    def lower(self, word, before):
        lowered = "".join(letter for letter, _ in word).lower()
        items = []
        for letter, span in word:
            size = len(letter.lower())
            for new in unicodedata.normalize("NFD", lowered[:size]):
                items.append([new, span])
            lowered = lowered[size:]
        assert not lowered
        # Canonical order: marks that follow each other, by class.
        start = 0
        for at in range(len(items) + 1):
            if at == len(items) or combining_class(items[at]) == 0:
                items[start:at] = sorted(items[start:at], key=combining_class)
                start = at + 1
        kept = []
        remaining = {id(s) for letter, s in items if unicodedata.category(letter) != "Mn"}
        for letter, span in items:
            if unicodedata.category(letter) != "Mn":
                kept.append([letter, span])
            elif id(span) not in remaining:
                owner = kept[-1] if kept else before  # accents on a CJK character come apart
                if owner:
                    owner[1][1:] = max(span[1:], owner[1][1:])
        return kept

    def split_at_punctuation(self, word):
        parts = [[]]
        for item in word:
            if item[0] in string.punctuation or unicodedata.category(item[0])[0] == "P":
                parts += [[item], []]
            else:
                parts[-1].append(item)
        return [part for part in parts if part]

    def cut(self, word):
        whole = "".join(letter for letter, _ in word)
        unknown = [(self.ids["[UNK]"], word[0][1][0], word[-1][1][1])]
        if len(whole) > self.max_word_characters:
            return unknown
        answer, start = [], 0
        while start < len(whole):
            for end in range(len(whole), start, -1):
                piece = ("##" if start else "") + whole[start:end]
                if piece in self.ids:
                    break
            else:
                return unknown
            answer.append((self.ids[piece], word[start][1][0], word[end - 1][1][1]))
            start = end
        return answer
