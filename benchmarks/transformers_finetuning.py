"""Fine-tuning with Hugging Face transformers, for `against_transformers.py`.

It is a plain PyTorch loop, as in the `no_trainer` scripts of transformers' examples (run_glue,
run_ner, run_swag, run_qa). The fast tokenizer tokenizes texts once, and collators pad to the
longest row of a batch. The models use their own losses and attention (sdpa). The optimizer is
PyTorch's fused AdamW; PyTorch chooses the number of threads, one per core.
"""

import time

import numpy as np
import torch
import transformers
from torch.utils.data import DataLoader
from training_speed import Progress, decay_groups, head_kernel


def finetune(task, train, test, names, args):
    """Trains and predicts.

    Args:
        task: name of the task.
        train: training examples from `against_transformers.read_task`.
        test: examples to predict, from the same function.
        names: the names of the labels or tags, or None.
        args: the arguments of `against_transformers.py`.

    Returns:
        `(predictions, numbers)`: predictions for `against_transformers.score`, and a dict of the
        number of rows, the seconds of preparation, training epochs and evaluation, and the last
        loss.
    """
    transformers.set_seed(args.seed)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
    started = time.perf_counter()
    make_rows, make_collate, architecture = _TASKS[task]
    rows = make_rows(tokenizer, train, names, args)
    prepared = time.perf_counter()
    labels = {"num_labels": len(names)} if names else {}
    model = architecture.from_pretrained(args.model, **labels)
    head = getattr(model, "classifier", None) or model.qa_outputs
    kernel = head_kernel(args.seed, head.in_features, head.out_features)
    head.weight.data.copy_(torch.from_numpy(kernel.T))
    collate = make_collate(tokenizer)
    done = _train(model, _inputs(rows), collate, args)
    began = time.perf_counter()
    test_rows = make_rows(tokenizer, test, names, args)
    logits = _logits(model.eval(), _inputs(test_rows), collate, args)
    predicted = _PREDICTIONS[task](test, test_rows, logits, names, args)
    return predicted, {
        "rows": len(rows),
        "prepare_seconds": prepared - started,
        "epoch_seconds": done.seconds,
        "evaluate_seconds": time.perf_counter() - began,
        "loss": done.loss,
    }


def _train(model, rows, collate, args):
    generator = torch.Generator().manual_seed(args.seed)
    data = DataLoader(rows, args.batch_size, shuffle=True, generator=generator, collate_fn=collate)
    steps = len(data) * args.epochs
    warmup = int(args.warmup_proportion * steps)
    optimizer = torch.optim.AdamW(
        decay_groups(model.named_parameters()), lr=args.learning_rate, eps=1e-6, fused=True
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: max(0.0, min((step + 1) / max(warmup, 1), (steps - step) / (steps - warmup))),
    )
    model.train()
    done = Progress()
    for _ in range(args.epochs):
        losses = []
        for batch in data:
            with _precision(args):
                loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
        done.epoch(torch.stack(losses).mean())
    return done


@torch.inference_mode()
def _logits(model, rows, collate, args):
    """Computes the logits of each row: an array, or a pair of arrays for start and end."""
    found = []
    for batch in DataLoader(rows, args.batch_size, collate_fn=collate):
        with _precision(args):
            outputs = model(**batch)
        names = [name for name in outputs if name.endswith("logits")]
        parts = [outputs[name].float().numpy() for name in names]
        found += zip(*parts, strict=True) if len(parts) > 1 else list(parts[0])
    return found


def _precision(args):
    return torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16")


def _inputs(rows):
    """Keeps only the inputs of the model in each row."""
    return [{name: row[name] for name in row if name in _INPUTS} for row in rows]


def _rows(columns):
    """Turns a dict of columns into a dict for each row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _text_rows(tokenizer, examples, names, args):
    columns = map(list, zip(*(example["texts"] for example in examples), strict=True))
    encoded = tokenizer(*columns, truncation=True, max_length=args.sequence_length)
    return _rows({**encoded, "labels": [example["label"] for example in examples]})


def _classes(examples, rows, logits, names, args):
    return np.stack(logits).argmax(axis=-1)


def _tag_rows(tokenizer, examples, names, args):
    numbers = {name: number for number, name in enumerate(names)}
    encoded = tokenizer(
        [example["words"] for example in examples],
        is_split_into_words=True,
        truncation=True,
        max_length=args.sequence_length,
    )
    firsts, labels = [], []
    for index, example in enumerate(examples):
        words = encoded.word_ids(index)
        pairs = zip(words, [None, *words[:-1]], strict=True)
        first = [word if word != before else None for word, before in pairs]
        firsts.append(first)
        labels.append([-100 if w is None else numbers[example["tags"][w]] for w in first])
    return _rows({**encoded, "labels": labels, "words": firsts})


def _tags(examples, rows, logits, names, args):
    found = [["O"] * len(example["words"]) for example in examples]  # truncated words stay "O"
    for tags, row, values in zip(found, rows, logits, strict=True):
        classes = values.argmax(axis=-1)
        for position, word in enumerate(row["words"]):
            if word is not None:
                tags[word] = names[classes[position]]
    return found


def _choice_rows(tokenizer, examples, names, args):
    rows = []
    for example in examples:
        contexts = [example["context"]] * len(example["choices"])
        encoded = tokenizer(
            contexts, example["choices"], truncation=True, max_length=args.sequence_length
        )
        rows.append({**encoded, "labels": example["label"]})
    return rows


def _question_rows(tokenizer, examples, names, args):
    """Cuts windows at the same tokens as this library does.

    This library fixes the number of tokens between the starts of two windows. transformers fixes
    their overlap, which is computed from this number and the length of the question.
    """
    questions = tokenizer([e["question"] for e in examples], add_special_tokens=False)["input_ids"]
    rows = []
    for number, (example, question) in enumerate(zip(examples, questions, strict=True)):
        room = args.sequence_length - len(question) - 3
        encoded = tokenizer(
            example["question"],
            example["context"],
            truncation="only_second",
            max_length=args.sequence_length,
            stride=max(0, room - args.document_stride),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        del encoded["overflow_to_sample_mapping"]
        windows = _rows(encoded)
        for index, window in enumerate(windows):
            window["sequence_ids"] = encoded.sequence_ids(index)
            window["question"] = number
            window |= _answer(example, window)
        rows += windows
    return rows


def _answer(example, window):
    """Finds the positions of the answer's first and last token in a window; 0 if it isn't there."""
    inside = [p for p, part in enumerate(window["sequence_ids"]) if part == 1]
    offsets = window["offset_mapping"]
    none = {"start_positions": 0, "end_positions": 0}
    if not example["answers"] or not inside:
        return none
    start = example["answers"][0]["answer_start"]
    end = start + len(example["answers"][0]["text"])
    if offsets[inside[0]][0] > start or offsets[inside[-1]][1] < end:
        return none
    return {
        "start_positions": max(p for p in inside if offsets[p][0] <= start),
        "end_positions": min(p for p in inside if offsets[p][1] >= end),
    }


def _answers(examples, rows, logits, names, args):
    """Returns `(texts, null odds)` by id, as `postprocess_qa_predictions` of run_qa does."""
    best = {example["id"]: (-np.inf, "") for example in examples}
    null = {example["id"]: np.inf for example in examples}
    for row, (start, end) in zip(rows, logits, strict=True):
        example = examples[row["question"]]
        id_, offsets = example["id"], row["offset_mapping"]
        null[id_] = min(null[id_], start[0] + end[0])
        is_context = [part == 1 for part in row["sequence_ids"]]
        length = len(is_context)
        firsts, lasts = (np.argsort(-part[:length])[: args.n_best] for part in (start, end))
        for first in firsts:
            for last in lasts:
                fits = first <= last < first + args.max_answer_length
                if not (fits and is_context[first] and is_context[last]):
                    continue
                value = start[first] + end[last]
                if value > best[id_][0]:
                    text = example["context"][offsets[first][0] : offsets[last][1]]
                    best[id_] = (value, text)
    texts = {id_: text for id_, (_, text) in best.items()}
    return texts, {id_: float(null[id_] - best[id_][0]) for id_ in texts}


_INPUTS = {
    "input_ids",
    "token_type_ids",
    "attention_mask",
    "labels",
    "start_positions",
    "end_positions",
}
_pad = transformers.DataCollatorWithPadding
_CLASSES = _text_rows, _pad, transformers.AutoModelForSequenceClassification
_QUESTIONS = _question_rows, _pad, transformers.AutoModelForQuestionAnswering
_TASKS = {
    "sentiment": _CLASSES,
    "nli": _CLASSES,
    "mrpc": _CLASSES,
    "ner": (
        _tag_rows,
        transformers.DataCollatorForTokenClassification,
        transformers.AutoModelForTokenClassification,
    ),
    "choice": (
        _choice_rows,
        transformers.DataCollatorForMultipleChoice,
        transformers.AutoModelForMultipleChoice,
    ),
    "squad1": _QUESTIONS,
    "squad2": _QUESTIONS,
}
_PREDICTIONS = {
    **dict.fromkeys(["sentiment", "nli", "mrpc", "choice"], _classes),
    "ner": _tags,
    **dict.fromkeys(["squad1", "squad2"], _answers),
}
