# %% [markdown]
# # Pre-train a BERT
#
# Pre-training teaches a BERT a language from plain text. It fills in masked words (masked LM) and
# tells whether a second sentence really follows the first (next sentence prediction). This guide
# trains a tiny BERT for half a minute, on the language reference that comes with Python. It needs
# `pip install ".[tensorflow,corpus,recipes]"`.

# %%
from pathlib import Path
from pydoc_data.topics import topics

import keras_bert
from keras_bert.sizes import tiny

Path("texts").mkdir()
for name, text in topics.items():
    Path("texts", f"{name}.txt").write_text(text, encoding="utf-8")
vocabulary = keras_bert.learn_vocabulary("texts", vocabulary_size=1000, progress=False)
tokenizer = keras_bert.BertTokenizer(vocabulary)
corpus = keras_bert.prepare_corpus("texts", "corpus", tokenizer, num_workers=1, progress=False)
corpus

# %% [markdown]
# [Vocabulary and corpus](vocabulary_and_corpus.py) shows these steps one by one, and what a batch
# looks like.
#
# ## The model
#
# `keras_bert.sizes` has the paper's `base` and `large`, and Google's 24 smaller models. Without
# `compile`, `fit` uses BERT's settings. A small model takes larger steps and no dropout, and gets
# further in half a minute with masked words alone, `next_sentence=False`.

# %%
import keras

keras.utils.set_random_seed(0)
backbone = keras_bert.BertBackbone(tokenizer.vocabulary_size(), **tiny, dropout=0)
preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=32)
model = keras_bert.BertPretrainer(backbone, next_sentence=False, preprocessor=preprocessor)
rate = keras_bert.WarmupLinearDecay(3e-3, warmup_steps=100, total_steps=1000)
model.compile(keras_bert.AdamW(rate, beta_2=0.98))

# %% [markdown]
# The batches are made during training and never end, so `fit` needs to know the steps.

# %%
data = keras_bert.pretraining_dataset(
    corpus, batch_size=32, sequence_length=32, next_sentence=False
)


def keep(epoch, logs):
    model.save_to_preset(f"bert/preset_{200 * (epoch + 1)}")


kept = keras.callbacks.LambdaCallback(on_epoch_end=keep)
history = model.fit(data, epochs=5, steps_per_epoch=200, verbose=2, callbacks=[kept])

# %%
import matplotlib.pyplot as plt

plt.plot(history.history["loss"])

# %% [markdown]
# The loss of guessing among 1,000 tokens would be 6.9.
#
# ## Fill in words
#
# `fill_mask` finds the most probable tokens for each `[MASK]`.

# %%
texts = ["Changed in [MASK] 3.8.", "[MASK] in version 3.8.", "The body of [MASK] function."]
for text, [candidates] in zip(texts, model.fill_mask(texts, top_k=3)):
    print(f"{text:30}", *(f"{word['token']} {word['score']:.2f}" for word in candidates), sep="   ")

# %% [markdown]
# The presets that the run kept show when it learned that:

# %%
for step in (200, 400, 600, 800, 1000):
    [candidates] = keras_bert.BertPretrainer.from_preset(f"bert/preset_{step}").fill_mask(texts[0])
    print(f"{step:5}", *(f"{word['token']} {word['score']:.2f}" for word in candidates), sep="   ")

# %% [markdown]
# Half a minute teaches which words are frequent, and some fixed phrases. Grammar takes longer: see
# the curves of [longer runs](../results_pretraining.md#pre-training), why they begin with
# [short sequences](../results_pretraining.md#short-sequences-first), and
# [what pre-training is worth](../results_pretraining.md#what-pre-training-is-worth) to a classifier.
#
# ## How probable is a text?
#
# A recipe masks each token in turn, with no fine-tuning, and sums the logarithms of their
# probabilities; with `--minimal_pairs` it tells how often the better text of a pair is the more
# probable one, in the files of BLiMP and Zorro:
#
# ```bash
# python recipes/score_texts.py --init pretrained --texts sentences.txt --output scores
# ```

# %% [markdown]
# ## Keep it
#
# A preset has everything that a task starts from: `BertClassifier.from_preset("pretrained")`.
# `config.json`, `model.weights.h5`, `preprocessor.json` and `vocab.txt` are its files, and
# `checksums.json` tells damaged ones.

# %%
model.save_to_preset("pretrained")

# %% [markdown]
# ## Google's settings
#
# The paper trains a million steps with batches of 256. Its learning rate rises to 1e-4 in 10,000
# steps. Google's code leaves out Adam's bias correction; here that is optional.

# %%
rate = keras_bert.WarmupLinearDecay(1e-4, warmup_steps=10_000, total_steps=1_000_000)
model.compile(keras_bert.AdamW(rate, bias_correction=False))  # exactly Google's

# %% [markdown]
# For batches of many thousands there is Keras's LAMB, here with the decay of You et al. (2020)
# ([what differs](../fidelity.md#differences-in-training)):

# %%
optimizer = keras.optimizers.Lamb(1.76e-3, weight_decay=0.01, global_clipnorm=1.0, epsilon=1e-6)
optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
model.compile(optimizer)

# %% [markdown]
# ## On TPUs, GPUs or a CPU
#
# `pretrain_tpu.py` has the paper's settings as defaults. The first 90 % of the steps use 128
# tokens, and the rest 512, on one schedule. `--strategy` chooses the devices; by default they are
# found, and so are the machines of `TF_CONFIG`. Rerun a command to resume it.
#
# ```bash
# python recipes/pretrain_tpu.py --corpus corpus --output bert --phase 128
# python recipes/pretrain_tpu.py --corpus corpus --output bert --phase 512
# ```
#
# On TPUs this trains in bfloat16, with 20 steps per execution, and says so; `--precision` and
# `--steps_per_execution` set others. On GPUs, add `--precision mixed_bfloat16`.
#
# [All recipes](../recipes.md#a-toy-run-of-them-all) shows a toy run of both phases on a CPU.
#
# | to | option |
# |---|---|
# | train a small model on a small machine | `--phase 32`, then `--phase 128 --init bert/preset`; a task made of the first reads 32 tokens unless `sequence_length` says otherwise |
# | go on from published weights | `--init`, see [texts of your domain](domain.py) |
# | watch unseen text | `--heldout others` |
# | fill rows with several sequences | `--packed`, see [rows](vocabulary_and_corpus.py) |
# | leave out Adam's bias correction, as Google | `--google_optimizer` |
# | train for a time, with a learning rate that follows the clock | `pretrain_day.py --hours 24` |
# | take newer settings than the paper's | `pretrain_day.py`, see [a BERT in a day](../day.md) |
# | keep presets along the way | `--preset_every 10000` |
#
# ## The paper's ablations
#
# Each is an option of `pretrain_tpu.py`: `--no_next_sentence`, the shares of `[MASK]` and of random
# words (`--mask_token_rate`, `--random_token_rate`), the size. `ablations.py` pre-trains the variants
# of a table, 5 to 8, or of figure 5, judges them by the data you have, and writes the table
# alongside the paper's.
#
# ```bash
# python recipes/ablations.py --table 5 --scale micro --corpus corpus --heldout others \
#     --output ablations
# python recipes/score_texts.py --init bert/preset --texts sentences.txt --output scores
# ```
