# %% [markdown]
# # Adapt a published model to your domain
#
# A published BERT has read books and Wikipedia. If your texts are different (contracts, medical
# notes, source code), pre-train it on them for a while before you fine-tune. Texts that are held
# out show what it gains. It needs `pip install ".[tensorflow,corpus]"`.

# %%
from pathlib import Path
from pydoc_data.topics import topics

import keras

import keras_bert

# %% [markdown]
# ## Two corpora
#
# Here the domain is the language reference that comes with Python. Every eighth chapter is held
# out. Both corpora need the vocabulary of the published model.

# %%
for number, (name, text) in enumerate(topics.items()):
    folder = Path("heldout" if number % 8 == 0 else "mine")
    folder.mkdir(exist_ok=True)
    Path(folder, f"{name}.txt").write_text(text, encoding="utf-8")

keras.utils.set_random_seed(0)
model = keras_bert.BertPretrainer.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", next_sentence=False, sequence_length=32
)
tokenizer = model.preprocessor.tokenizer
options = {"num_workers": 1, "progress": False}
mine = keras_bert.prepare_corpus("mine", "corpus", tokenizer, **options)
others = keras_bert.prepare_corpus("heldout", "others", tokenizer, **options)
mine.num_tokens, others.num_tokens

# %% [markdown]
# ## Perplexity before
#
# `heldout_dataset` masks the held-out texts once, the same way for every evaluation. Perplexity is
# *e* to the power of the loss: as many equally probable words would surprise the model as much.

# %%
import math

settings = {"batch_size": 16, "sequence_length": 32, "next_sentence": False}
heldout = keras_bert.heldout_dataset(others, mine, **settings)
before = model.evaluate(heldout, return_dict=True, verbose=0)
print(f"perplexity {math.exp(before['loss']):,.0f}")

# %% [markdown]
# all-MiniLM-L6-v2 comes as an encoder for sentences, without the head that predicts words. A new
# head is worse than an even guess among all 30,522 tokens. `hf://google-bert/bert-base-uncased` has
# its head, so that the perplexity starts where its pre-training ended.
#
# ## Train
#
# Masked words alone are enough to adapt a model to a domain.

# %%
data = keras_bert.pretraining_dataset(mine, **settings)
rate = keras_bert.WarmupLinearDecay(5e-4, warmup_steps=10, total_steps=100)
model.compile(keras_bert.AdamW(rate))
history = model.fit(data, epochs=5, steps_per_epoch=20, verbose=2)

# %% [markdown]
# ## Perplexity after

# %%
after = model.evaluate(heldout, return_dict=True, verbose=0)
print(f"perplexity {math.exp(after['loss']):,.0f}")

# %% [markdown]
# The candidates for a `[MASK]` are now words of the domain:

# %%
[candidates] = model.fill_mask("The method returns a new [MASK].", top_k=5)
print(*(candidate["token"] for candidate in candidates))

# %% [markdown]
# A hundred steps are a beginning, on some 50,000 tokens. After 2.2 million tokens of novels, the
# same model has a held-out loss of [4.13](../results_pretraining.md#pre-training), a perplexity of 62.
#
# ## Fine-tune from it

# %%
model.save_to_preset("python_bert")
classifier = keras_bert.BertClassifier.from_preset("python_bert", num_classes=2)

# %% [markdown]
# ## The same as a command
#
# The recipe counts in passes over your corpus, prints the perplexity of the held-out texts at every
# checkpoint, and writes its curve for TensorBoard.
#
# ```bash
# python recipes/prepare_corpus.py mine --vocabulary bert/preset --output corpus
# python recipes/prepare_corpus.py heldout --vocabulary bert/preset --output others
# python recipes/pretrain_tpu.py --corpus corpus --heldout others --output domain \
#     --init bert/preset --phase 32 --epochs 1 --batch_size 4 --learning_rate 5e-5 --strategy single
# ```
#
# With `--init`, the learning rate has a schedule over the steps of this run alone. The preset's own
# dropout is kept. `--no_next_sentence` trains masked words alone.
