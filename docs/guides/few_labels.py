# %% [markdown]
# # Classes from a few labels
#
# With 8 or 16 labelled texts per class, `few_labels.py` trains the embedder on pairs of them and
# fits a logistic regression to the vectors (SetFit):
#
# ```bash
# python recipes/few_labels.py --init all-MiniLM-L6-v2 --train train.tsv --dev dev.tsv \
#     --examples_per_class 8 --output few
# ```
#
# The same in Python: the embedder learns from texts with classes, and a logistic regression reads
# its vectors.

# %%
from sklearn.linear_model import LogisticRegression

import keras_bert

texts = [
    "The parcel never arrived.",
    "My order is two weeks late.",
    "The package came to the wrong house.",
    "I was charged twice.",
    "Please refund the second payment.",
    "The invoice shows the wrong amount.",
]
labels = ["delivery"] * 3 + ["payment"] * 3
embedder = keras_bert.BertEmbedder.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", sequence_length=32
)
embedder.fit(texts, labels, epochs=3, batch_size=6, verbose=0)
head = LogisticRegression().fit(embedder.predict(texts), labels)
head.predict(embedder.predict(["Where is my delivery?", "You took the money two times."]))

# %% [markdown]
# On 488 movie reviews, 16 examples per class give an accuracy of
# [.707](../results.md#a-few-labels), where fine-tuning gives .559.
