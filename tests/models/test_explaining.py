"""Weights of words: integrated gradients, against their axioms and another implementation."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from keras import ops

from keras_bert.models import explaining

EXAMPLES = {  # a case, an example, the texts that its words are from, and a target
    "classes": ("a (bc) d. e", ["a (bc) d. e"], 2),
    "pairs": (("a b", "c"), ["a b", "c"]),
    "windows": ("a b c d e f g h i j k l m", ["a b c d e f g h i j"], "1"),
    "score": ("e d c", ["e d c"]),
    "features": ({"text": "a b", "features": [1.0, 2.0]}, ["a b"], 0),
    "documents": (("a b", "c d e"), ["a b", "c d e"]),
}


@pytest.fixture(scope="module")
def task_of(make_backbone, make_case, randomized):
    def make(name):
        task = randomized(make_case(name, make_backbone(num_layers=2)))
        if name == "features":
            task.adapt_features([[0.0, 1.0], [2.0, 3.0]])
        return task

    return make


def test_weights_of_words_add_up_to_what_they_explain(task_of, monkeypatch):
    monkeypatch.setattr(explaining, "_TOKENS", 100)  # the points are computed in parts
    for name, (x, texts, *target) in EXAMPLES.items():
        task = task_of(name)
        answer = task.answer(x)
        explained = task.explain(x, *target, steps=24)
        change = explained["value"] - explained["baseline_value"]
        total = explained["word_weight"].sum()
        assert total == pytest.approx(change, rel=0.01), name
        assert explained["error"] == pytest.approx(abs(total / change - 1), rel=1e-3, abs=1e-9)
        for column, text in enumerate(texts):
            is_here = explained["word_column"] == column
            words, starts, ends = (
                explained[f"word_{n}"][is_here] for n in ("text", "start", "end")
            )
            assert [*words] == [text[a:b] for a, b in zip(starts, ends, strict=True)]
            assert "".join(words) == text.replace(" ", "")
        if "probabilities" in answer and name != "windows":  # whose answer is that of all windows
            number = answer["labels"].index(explained["target"])
            p = float(answer["probabilities"][number])
            assert explained["value"] == pytest.approx(np.log(p / (1 - p)), rel=1e-4, abs=1e-4)
            assert target or explained["target"] == answer["label"]
        assert task.answer(x).keys() == answer.keys()  # and the table has no change left:
        assert "call" not in vars(task.backbone.token_embedding)


def test_other_threads_look_up_words_as_they_are(task_of, assert_close):
    table, ids = task_of("classes").backbone.token_embedding, np.array([[5, 6]])
    expected, change = ops.convert_to_numpy(table(ids)), np.ones((1, 2, 16), "float32")
    with explaining._moved(table, change), ThreadPoolExecutor(1) as pool:
        found = pool.submit(table, ids).result(), table(ids)
    assert_close(found, (expected, expected + 1))


def test_a_blank_may_be_masked_and_several_labels_have_log_odds_of_their_own(
    make_backbone, make_case, randomized, assert_close
):
    task = randomized(make_case("labels", make_backbone()))
    explained = task.explain("a b", "y")
    logit = task.predict(["a b"])[0, 1]
    assert_close([explained["value"]], np.array([logit]), size=1.0)
    masked = task.explain("[MASK] [MASK]", "y", baseline="mask")
    blank = task.explain("a b", "y", baseline="mask")["baseline_value"]
    assert blank != explained["baseline_value"] and np.isfinite(masked["error"])
    assert task.explain("", "x")["word_weight"].shape == (0,)


@pytest.mark.slow
def test_weights_are_those_of_a_loop_in_pytorch(torch, transformers, task_of, tmp_path):
    task, x = task_of("classes"), "a b c d e f"
    task.save_to_hugging_face(tmp_path)
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path).eval()
    ids = torch.tensor(task.preprocessor([x])["token_ids"][:, :8])
    special = torch.isin(ids, torch.tensor([2, 3]))
    table = theirs.get_input_embeddings()
    end, start = table(ids).detach(), table(torch.where(special, ids, 0)).detach()
    explained = task.explain(x)
    number, gradients = int(explained["target"]), 0
    for share in (np.arange(200) + 0.5) / 200:
        vectors = (start + share * (end - start)).requires_grad_()
        [logits] = theirs(inputs_embeds=vectors).logits
        [gradient] = torch.autograd.grad(logits.softmax(-1).logit()[number], vectors)
        gradients = gradients + gradient / 200
    weights = (gradients * (end - start)).sum(-1)[~special].numpy()
    difference = np.abs(explained["word_weight"] - weights).max()
    assert difference < 1e-4 * np.abs(weights).max()


def test_what_cannot_be_explained_is_refused(task_of, refused):
    task, score = task_of("classes"), task_of("score")
    assert score.explain("a", steps=2)["target"] is None
    for message, call, *arguments in (
        ("single example", task.explain, ["a", "b"]),
        ("'great'", task.explain, "a", "great"),
        ("query and a document", task_of("documents").explain, "ab"),
        ("target of a score", score.explain, "a", 1),
    ):
        refused(message, call, *arguments)
    task.quantize("int8")
    refused("quantized", task.explain, "a")
