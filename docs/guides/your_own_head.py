# %% [markdown]
# # Your own head: freeze, unfreeze, fine-tune
#
# An encoder is a Keras model: put any layers on it, freeze it, or train it in part. This guide does
# so on sixteen reviews. Classes, tags, spans, choices and vectors have a ready model with a
# preprocessor ([all of them](../cheat_sheet.md)); freezing and rates by layer work there, too.

# %%
import keras
import numpy as np
from keras import ops

import keras_bert

keras.utils.set_random_seed(1)
texts = [
    "A warm and funny film with a wonderful cast.",
    "I could not stop reading; what a beautiful story.",
    "The best dinner we have had in years.",
    "Friendly staff and a spotless room.",
    "She sings like nobody else. I was moved to tears.",
    "It works exactly as promised. I am delighted.",
    "Great sound and a battery that lasts for days.",
    "A clever plot and a perfect ending.",
    "Dull, slow and far too long.",
    "The plot makes no sense and the jokes fall flat.",
    "Cold food and a rude waiter.",
    "The room was dirty and the street was loud.",
    "I fell asleep in the second act.",
    "It broke after two days. A waste of money.",
    "The worst customer service I have ever met.",
    "Poorly written, with a ridiculous ending.",
]
labels = np.array([1] * 8 + [0] * 8)
new = [
    "What a lovely book!",
    "A boring film with a silly ending.",
    "The soup was excellent.",
    "Nobody helped us and the shower was cold.",
]
new_labels = np.array([1, 0, 1, 0])

# %% [markdown]
# ## Functional
#
# A preprocessor turns texts into the encoder's inputs. The encoder returns a vector per token,
# `sequence_output`, and one per text, `pooled_output`. This head takes the mean of the tokens'
# vectors, without padding.

# %%
backbone = keras_bert.BertBackbone.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
preprocessor = keras_bert.BertPreprocessor.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", sequence_length=32
)
inputs, new_inputs = preprocessor(texts), preprocessor(new)

tokens = backbone.output["sequence_output"]  # [B, S, H]
is_token = ops.cast(backbone.input["padding_mask"], tokens.dtype)[:, :, None]  # [B, S, 1]
mean = ops.sum(tokens * is_token, axis=1) / ops.sum(is_token, axis=1)  # [B, H]
model = keras.Model(backbone.input, keras.layers.Dense(2, name="head")(mean))


def train(model, optimizer, epochs):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=["accuracy"])
    model.fit(inputs, labels, epochs=epochs, batch_size=8, verbose=0)
    return f"accuracy on new texts {model.evaluate(new_inputs, new_labels, verbose=0)[1]:.2f}"


# %% [markdown]
# ## Freeze
#
# With the encoder frozen, only the head trains. It is new, so it takes a high rate.

# %%
backbone.freeze()
print(train(model, keras_bert.AdamW(1e-2), epochs=20))
print([variable.path for variable in model.trainable_variables])

# %% [markdown]
# If the encoder stays frozen, [compute its vectors once](features.py).
#
# ## Unfreeze block by block
#
# The last blocks adapt most to a task, so unfreeze from there: `freeze(up_to=5)` freezes the
# embeddings and the first five blocks, and the layers above train. Freeze first, then compile: an
# optimizer knows the weights that were trainable when it was first used.

# %%
for up_to in range(backbone.num_layers)[:-3:-1]:  # 5, then 4, of six blocks
    backbone.freeze(up_to)
    print(train(model, keras_bert.AdamW(1e-4), epochs=4))
    print(sorted({variable.path.split("/")[0] for variable in model.trainable_variables}))

# %% [markdown]
# Layers have Keras's `trainable`, too, with two traps. `backbone.layers[:-2]` is not all but two
# blocks: the last two layers are others, so take `backbone.blocks`. And `backbone.trainable = True`
# does nothing if it is True already: `backbone.unfreeze()` unfreezes every layer.

# %%
print(*(layer.name for layer in backbone.layers))

# %% [markdown]
# ## Rates by layer
#
# `layer_decay=0.8` trains the head at the full rate, the last block at .8 of it, the block below at
# .64, and so on down to the embeddings. No layer has to be frozen. In a model of your own, too.

# %%
backbone.unfreeze()
print(train(model, keras_bert.AdamW(1e-4, layer_decay=0.8), epochs=4))

# %% [markdown]
# ## A subclass of keras.Model


# %%
class Reviews(keras.Model):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = keras.layers.Dense(2)

    def call(self, inputs):
        return self.head(self.backbone(inputs)["pooled_output"])  # [B, 2]


def pretrained():
    return keras_bert.BertBackbone.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")


reviews = Reviews(pretrained())
print(train(reviews, keras_bert.AdamW(2e-4), epochs=10))
print(reviews.predict(new_inputs, verbose=0).round(1))

# %% [markdown]
# ## Why not `compile("adam")`
#
# Keras's Adam has a learning rate of 1e-3, 20 to 50 times the 2e-5 to 5e-5 that BERT is fine-tuned
# with. It destroys what the encoder has learned within a few steps. Afterwards, every text has the
# same logits, and more epochs don't help:

# %%
destroyed = Reviews(pretrained())
print(train(destroyed, "adam", epochs=10))
print(destroyed.predict(new_inputs, verbose=0).round(1))

# %% [markdown]
# Pass the rate, `keras_bert.AdamW(5e-5)`, best with a [warm-up and a
# decay](../which_model.md#learning-rate-and-epochs).
# `"adam"` is fine for a head on a frozen encoder. Tasks of this library take the paper's optimizer
# if `compile` has none, and warn of a rate above 5e-4 for an encoder that was trained.
#
# ## A head for raw texts
#
# A subclass of `BertTask` makes the head in a few lines, and then reads texts, answers with names,
# has scores and presets, and exports a model of raw strings: see [a task](../design.md#a-task).
