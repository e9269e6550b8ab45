"""Names of published BERTs, for `from_preset`."""

import difflib

KNOWN_PRESETS = {
    "hf://google-bert/bert-base-uncased": "English, lowercased. 12 layers, 110M parameters.",
    "hf://google-bert/bert-base-cased": "English. 12 layers, 108M parameters.",
    "hf://google-bert/bert-large-uncased": "English, lowercased. 24 layers, 335M parameters.",
    "hf://google-bert/bert-large-cased": "English. 24 layers, 334M parameters.",
    "hf://google-bert/bert-large-uncased-whole-word-masking": (
        "English, lowercased, trained with whole words masked. 24 layers, 335M parameters."
    ),
    "hf://google-bert/bert-large-uncased-whole-word-masking-finetuned-squad": (
        "English, lowercased, fine-tuned on SQuAD 1.1. 24 layers, 335M parameters."
    ),
    "hf://google-bert/bert-base-multilingual-cased": (
        "Wikipedias of 104 languages. 12 layers, 178M parameters."
    ),
    "hf://google-bert/bert-base-multilingual-uncased": (
        "Wikipedias of 102 languages, lowercased. 12 layers, 167M parameters."
    ),
    "hf://google-bert/bert-base-chinese": "Chinese. 12 layers, 102M parameters.",
    "hf://google-bert/bert-base-german-cased": "German. 12 layers, 109M parameters.",
    "hf://dslim/bert-base-NER": "English, fine-tuned on CoNLL-2003. 12 layers, 108M parameters.",
    "hf://sentence-transformers/all-MiniLM-L6-v2": (
        "Vectors of English sentences. 6 layers, 23M parameters."
    ),
    "hf://sentence-transformers/all-MiniLM-L12-v2": (
        "Vectors of English sentences. 12 layers, 33M parameters."
    ),
    "bert_tiny_en_uncased": "KerasHub: English, lowercased. 2 layers, 4M parameters.",
    "bert_small_en_uncased": "KerasHub: English, lowercased. 4 layers, 29M parameters.",
    "bert_medium_en_uncased": "KerasHub: English, lowercased. 8 layers, 41M parameters.",
    "bert_base_en_uncased": "KerasHub: English, lowercased. 12 layers, 109M parameters.",
    "bert_base_en": "KerasHub: English. 12 layers, 108M parameters.",
    "bert_base_zh": "KerasHub: Chinese. 12 layers, 102M parameters.",
    "bert_base_multi": "KerasHub: Wikipedias of 104 languages. 12 layers, 178M parameters.",
    "bert_large_en_uncased": "KerasHub: English, lowercased. 24 layers, 335M parameters.",
    "bert_large_en": "KerasHub: English. 24 layers, 334M parameters.",
    "bert_tiny_en_uncased_sst2": (
        "KerasHub: English, lowercased, fine-tuned on SST-2. 2 layers, 4M parameters."
    ),
}

_HUB = "hf://"
# "bert-base-uncased" and "google-bert/bert-base-uncased", as transformers calls them.
_HANDLES = {
    name: handle
    for handle in KNOWN_PRESETS
    if handle.startswith(_HUB)
    for name in (handle.removeprefix(_HUB), handle.rpartition("/")[2])
}


def hub_handle(name: str) -> str | None:
    """Returns the `hf://` handle of a well-known name of transformers, or None."""
    return _HANDLES.get(name)


def similar_preset(name: str) -> str | None:
    """Returns the known preset that a misspelt name most likely means, or None."""
    found = difflib.get_close_matches(name, [*_HANDLES, *KNOWN_PRESETS], 1, cutoff=0.8)
    return _HANDLES.get(found[0], found[0]) if found else None
