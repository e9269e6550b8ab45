# %% [markdown]
# # Answer questions: find the answer in a text
#
# A span labeler reads a question together with a text and marks the part of the text that answers
# it. It never makes up words: the answer is always an exact span of the text. This guide trains one
# on questions about inventors and discoverers.

# %%
import keras

import keras_bert

facts = """Marie Curie|discover radium|discovered radium|Paris|1898
Alexander Fleming|discover penicillin|discovered penicillin|London|1928
Karl Benz|build the first car|built the first car|Mannheim|1885
Wilhelm Röntgen|discover X-rays|discovered X-rays|Würzburg|1895
William Herschel|discover Uranus|discovered Uranus|Bath|1781
Charles Darwin|publish his theory|published his theory|London|1859
Ludwig van Beethoven|finish his last symphony|finished his last symphony|Vienna|1824
Tim Berners-Lee|invent the World Wide Web|invented the World Wide Web|Geneva|1989
Thomas Edison|invent the phonograph|invented the phonograph|Menlo Park|1877
Alexander Graham Bell|invent the telephone|invented the telephone|Boston|1876
J. J. Thomson|discover the electron|discovered the electron|Cambridge|1897
Gregor Mendel|describe the laws of heredity|described the laws of heredity|Brno|1866
George Eastman|sell the first Kodak camera|sold the first Kodak camera|Rochester|1888
Mary Anning|find an ichthyosaur|found an ichthyosaur|Lyme Regis|1811"""

# %% [markdown]
# ## Questions, contexts and answers
#
# An example is a dict of `question`, `context` and `answers`; each answer has its text and the
# character at which it starts. `readers.read_squad` reads such dicts from the files of SQuAD 1.1
# and 2.0.

# %%
phrasings = [
    "{who} {past} in {where} in {when}.",
    "In {when}, {who} {past} in {where}.",
    "It was in {where} that {who} {past}, in the year {when}.",
]
examples = []
for number, line in enumerate(facts.splitlines() * 2):
    who, verb, past, where, when = line.split("|")
    context = phrasings[number % 3].format(who=who, past=past, where=where, when=when)
    asked = {
        f"Who {past}?": who,
        f"Where did {who} {verb}?": where,
        f"When did {who} {verb}?": when,
    }
    for question, answer in asked.items():
        answers = [{"text": answer, "answer_start": context.index(answer)}]
        examples.append({"question": question, "context": context, "answers": answers})
len(examples), examples[4]

# %% [markdown]
# ## Fine-tune
#
# The paper reads sequences of 384 tokens, and answers of up to 30. These texts and answers are
# shorter.

# %%
keras.utils.set_random_seed(0)
reader = keras_bert.BertSpanLabeler.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    sequence_length=96,
    document_stride=32,
    max_question_length=24,
    max_answer_length=8,
)
steps = 10 * len(examples) // 8
rate = keras_bert.WarmupLinearDecay(3e-4, warmup_steps=steps // 10, total_steps=steps)
reader.compile(keras_bert.AdamW(rate))  # few questions, so larger steps than the default's
history = reader.fit(examples, epochs=10, batch_size=8, verbose=0)
print(f"loss {history.history['loss'][0]:.2f} to {history.history['loss'][-1]:.2f}")

# %% [markdown]
# ## Ask it
#
# The people are new here, and so are most places and phrasings.

# %%
ada = "Ada Lovelace wrote the first program at her desk in London, and it appeared in 1843."
rosa = "In 1955, Rosa Parks kept her seat on a bus in Montgomery."
amelia = "Amelia Earhart took off from Newfoundland in 1932 and crossed the ocean alone."
questions = [
    {"question": "Where did Ada Lovelace write the first program?", "context": ada},
    {"question": "When did Rosa Parks keep her seat?", "context": rosa},
    {"question": "Who crossed the ocean?", "context": amelia},
]
answers = reader.answer(questions)
for example, answer in zip(questions, answers):
    print(example["question"], answer["answer"])

# %%
found = answers[0]
ada[found["start"] : found["end"]] == found["answer"], round(found["score"], 2)

# %% [markdown]
# The reader has learned what *who*, *where* and *when* ask for. To tell which of two years in a
# text is meant, it needs thousands of questions: on SQuAD 1.1, all-MiniLM-L6-v2 has an F1 of
# [41.7](../results_tasks.md#fine-tuning-compared-with-transformers) after 800, and the paper's BERT-base
# has 88.5 after all 88,000.
#
# `n_best` adds the runners-up, each with its score:

# %%
best = reader.answer(questions[0], n_best=3)
for text, score in zip(best["n_best_answer"], best["n_best_score"]):
    print(f"{score:.2f}  {text}")

# %% [markdown]
# ## Long texts
#
# A context may have any length. It is read in overlapping windows: with `sequence_length=384` and
# `document_stride=128`, a window begins every 128 tokens. The best answer of all windows counts.

# %%
filler = "The library was quiet, and the rain ran down the tall windows. " * 20
long = {"question": "Who wrote the first program?", "context": filler + ada + " " + filler}
answer = reader.answer(long)
answer["answer"], answer["start"], len(long["context"])

# %% [markdown]
# ## Questions without an answer
#
# SQuAD 2.0 has questions that their texts don't answer, marked `is_impossible`. A model loaded with
# `null_threshold` may answer "": it does if `null_odds`, the score of "no answer" minus the best
# answer's score, is above the threshold. `metrics.squad_scores` computes exact match and F1 as the
# official scripts do, and finds the best threshold:

# %%
asked = [
    {"id": "1", "answers": [{"text": "1843", "answer_start": 81}], "is_impossible": False},
    {"id": "2", "answers": [], "is_impossible": True},
]
predictions, null_odds = {"1": "in 1843", "2": "London"}, {"1": -4.2, "2": 1.7}
scores = keras_bert.metrics.squad_scores(asked, predictions, null_odds)
for name in ("exact", "f1", "HasAns_f1", "NoAns_f1", "best_f1", "best_f1_thresh"):
    print(f"{name:15} {scores[name]:5.1f}")

# %% [markdown]
# `reader.scores(examples)` calls it on the reader's own answers.
#
# ## The same as a command
#
# For SQuAD 2.0, the recipe tunes the threshold on the development set and stores it in the model.
# Its files of predictions are those of Google's `run_squad.py`.
#
# ```bash
# python recipes/finetune_squad.py --init bert/preset --output squad \
#     --train train.json --dev dev.json
# ```
