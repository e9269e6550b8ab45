# %% [markdown]
# # Tag: find names in texts
#
# A tagger gives each word a label: the names of people and places, parts of speech, or the chunks
# of a sentence. This guide trains one on twenty sentences from a travel diary, and it finds people
# and places that it has never seen.

# %%
import keras_bert

diary = """Maria/B-PER Lopez/I-PER took the night train to Vienna/B-LOC .
We met Jonas/B-PER in a café near the harbor .
The ferry from Dover/B-LOC to Calais/B-LOC was two hours late .
My sister Anna/B-PER has lived in Lisbon/B-LOC for ten years .
In Kyoto/B-LOC it rained all day , but nobody minded .
Peter/B-PER Novak/I-PER showed us the old town .
The road to Granada/B-LOC was long and dusty .
Dinner with Elena/B-PER and Marco/B-PER lasted until midnight .
Our guide , Samuel/B-PER Okoro/I-PER , knew every bird by its song .
From New/B-LOC Orleans/I-LOC we took a bus to Houston/B-LOC .
There was snow on the roofs of Prague/B-LOC .
Ask Nora/B-PER for the key , she keeps it behind the bar .
I wrote a postcard to Lucas/B-PER from Buenos/B-LOC Aires/I-LOC .
The market opens at six and closes at noon .
Julia/B-PER Stein/I-PER paints boats in a village near Marseille/B-LOC .
Bring warm socks and a good book .
A friend of David/B-PER rents bicycles in Amsterdam/B-LOC .
Helen/B-PER Park/I-PER flew to San/B-LOC Diego/I-LOC on Monday .
The best bread in Munich/B-LOC is sold by Karl/B-PER .
We slept badly and left before breakfast ."""

# %% [markdown]
# ## Read words and tags
#
# The usual file is CoNLL's: a word and its tag in each line, and a blank line between sentences.
# `B-` begins a name, `I-` continues it, and `O` is no name.

# %%
with open("diary.conll", "w", encoding="utf-8") as file:
    for sentence in diary.splitlines():
        for word in sentence.split():
            word, _, tag = word.partition("/")
            print(word, tag or "O", file=file)
        print(file=file)

sentences = keras_bert.readers.read_conll("diary.conll")
sentences

# %% [markdown]
# The scheme of the tags is detected: BIO, IOB1 (`B-` only between two names of a type) or BIOES
# (`E-` ends a name, `S-` is a name of one word). `read_conll` converts them to BIO, or with
# `scheme="bioes"` to BIOES. An invalid tag is an error with its line; `repair=True` reads it as
# `conlleval` does. Texts with spans of characters, as doccano and Label Studio export them, need no
# such file: [`fit` reads them](../forms.md). In the files of CoNLL-2003, `tag_column=1` has the parts of speech and
# `tag_column=2` the chunks.
#
# ## Fine-tune
#
# A word is labeled on its first piece. A longer sentence is read in windows that overlap by half.

# %%
tagger = keras_bert.BertTokenClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=sentences.tag_names(),
    sequence_length=64,
)
steps = 12 * len(sentences) // 4
rate = keras_bert.WarmupLinearDecay(3e-4, warmup_steps=steps // 10, total_steps=steps)
tagger.compile(keras_bert.AdamW(rate))  # few sentences, so larger steps than the default's
history = tagger.fit(sentences.words, sentences.tags, epochs=12, batch_size=4, verbose=0)
print(f"loss {history.history['loss'][0]:.2f} to {history.history['loss'][-1]:.2f}")

# %% [markdown]
# ## Find names
#
# `answer` takes raw texts. It joins the tags to entities, with their places in the text; longer
# texts are read in overlapping windows, so no word is lost.

# %%
texts = [
    "Clara Winter and her brother Tom walked from Florence to Siena in a week.",
    "The soup was cold, but the view of Naples was worth it.",
    "In Seattle we visited Robert, who sells maps of places that don't exist.",
]
answers = tagger.answer(texts)
for text, found in zip(texts, answers):
    spans = zip(found["entity_start"], found["entity_end"], found["entity_type"])
    for start, end, kind in reversed(list(spans)):  # the last first: it moves no other
        text = f"{text[:start]}[{text[start:end]} {kind}]{text[end:]}"
    print(text)

# %%
found = answers[0]
for text, kind, start, score in zip(
    found["entity_text"], found["entity_type"], found["entity_start"], found["entity_score"]
):
    print(f"{text:14} {kind}  at character {start:2}  {score:.2f}")

# %% [markdown]
# The diary has few surnames, so one may be missed. Given words instead of a text, `answer` gives
# the tags of the words.

# %%
tagger.answer([["Nobody", "in", "Helsinki", "knew", "Oskar"]])[0]["label"]

# %% [markdown]
# ## Score it
#
# Most tags are `O`, so accuracy says little. `entity_scores` computes precision, recall and F1 of
# whole entities as `conlleval` does, and `tagger.scores(words, tags)` calls it on the tagger's own
# answers. This tagging misses the end of one name, and the whole name counts as wrong:

# %%
right = [["B-PER", "I-PER", "O", "O", "B-LOC", "O"]]
guess = [["B-PER", "O", "O", "O", "B-LOC", "O"]]
keras_bert.metrics.entity_scores(right, guess)

# %% [markdown]
# On WNUT-17, names in tweets, all-MiniLM-L6-v2 has an F1 of
# [44.7](../results_tasks.md#fine-tuning-compared-with-transformers) after 2,000 sentences.
#
# ## The same as a command
#
# The recipe keeps the epoch with the best F1, and writes answers that `conlleval` reads. For names,
# capital letters help: start from a cased model. `--document_context` adds the neighboring
# sentences of a document to each sentence, as the paper does. `--tag_column 1 --select accuracy`
# learns the parts of speech of CoNLL-2003.
#
# ```bash
# python recipes/finetune_ner.py --init bert/preset --output names \
#     --train train.conll --dev dev.conll
# ```
#
# To train only a tagger's head on a frozen BERT, see [features](features.py).
