"""Distillation by relations: the paper's loss, of the student's tokens alone, on any backend."""

import keras
import numpy as np
import pytest

from _relation_distiller import RelationDistiller
from keras_bert import (
    AdamW,
    Backbone,
    BertBackbone,
    BertClassifier,
    BertPreprocessor,
)

LETTERS = [*"abcdefghijklmnopqrstuvwxy"]
SIZES = {"num_layers": 3, "num_heads": 4, "hidden_dim": 32, "intermediate_dim": 48}


@pytest.fixture
def texts():
    rng = np.random.default_rng(3)
    return [" ".join(rng.choice(LETTERS, rng.integers(1, 11))) for _ in range(21)]


@pytest.fixture
def make_model(make_backbone, letters, varied):
    """Makes a student of two narrow layers, its teacher of three wider ones, and the distiller."""

    def make(dropout=0.0, relative_bias=False, **arguments):
        teacher = varied(make_backbone(dropout=0.5, **SIZES))
        encoder = {"num_layers": 2, "dropout": dropout, "relative_bias": relative_bias}
        student = varied(make_backbone(**encoder))
        reader = BertPreprocessor(letters, sequence_length=12)
        settings = {"num_relation_heads": 4, "preprocessor": reader, **arguments}
        return RelationDistiller(student, teacher, **settings), student, teacher

    return make


def array(x):
    return keras.ops.convert_to_numpy(x).astype("float64")


def relations(part, mask, heads):
    """Softmax over tokens of each row, `[B, N, S, S]`, in float64."""
    part = array(part).reshape(*part.shape[:2], heads, -1).transpose(0, 2, 1, 3)
    scores = part @ part.swapaxes(2, 3) / part.shape[-1] ** 0.5
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask[:, None, None]
    return scores / scores.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(("layer", "teacher_layer"), [(-1, -1), (0, 1)])
def test_the_loss_is_the_papers(make_model, inputs, eager, layer, teacher_layer):
    model, student, teacher = make_model(layer=layer, teacher_layer=teacher_layer)
    mask, expected = inputs["padding_mask"], 0.0
    pairs = zip(
        student.attention_parts(inputs, layer),
        teacher.attention_parts(inputs, teacher_layer),
        strict=True,
    )
    for own, theirs in pairs:
        own, theirs = (relations(part, mask, 4) for part in (own, theirs))
        logs = np.log(np.where(theirs > 0, theirs, 1)) - np.log(np.where(theirs > 0, own, 1))
        tokens = (theirs * logs).sum(axis=-1).mean(axis=1)  # [B, S]
        expected += (tokens * mask).sum() / mask.sum()
    assert eager(model).evaluate(inputs, verbose=0) == pytest.approx(expected, rel=1e-5)


def test_a_teacher_learns_nothing_and_drops_nothing(make_model, inputs, eager):
    model, student, teacher = make_model()
    fixed = [*teacher.weights, *student.pooler.weights, *student.blocks[1].weights[2:]]
    before = [array(weight) for weight in fixed]
    eager(model)
    losses = [model.train_on_batch(inputs), model.evaluate(inputs, verbose=0)]
    assert losses[1] < losses[0] and model.evaluate(inputs, verbose=0) == losses[1]
    assert all(map(np.array_equal, before, map(array, fixed)))
    assert {id(v) for v in model.weights} == {id(v) for v in student.weights}  # and so are saved


def test_texts_come_in_any_form_without_labels(make_model, texts, eager, refused):
    model, *_ = make_model()
    loss = eager(model).evaluate(texts, verbose=0)
    tf = pytest.importorskip("tensorflow")
    dataset = tf.data.Dataset.from_tensor_slices(texts)
    for x in (dataset, (text for text in texts), model.batches(texts)):
        assert model.evaluate(x, verbose=0) == pytest.approx(loss, rel=1e-5)
    model.fit(dataset.repeat(), steps_per_epoch=1, verbose=0)
    model.fit((texts, texts), verbose=0)  # pairs
    refused("learns from texts alone", model.fit, texts, [0] * 21)
    refused("There are no", model.fit, [])


def test_the_student_is_saved_with_its_preprocessor(make_model, tmp_path, refused):
    model, student, teacher = make_model()
    model.save_to_preset(tmp_path / "small")
    classifier = BertClassifier.from_preset(tmp_path / "small", num_classes=2)
    assert classifier.answer("a b")["label"] in ("0", "1")
    assert all(map(np.array_equal, classifier.backbone.get_weights(), student.get_weights()))
    assert BertBackbone.from_preset(tmp_path / "small").num_layers == 2
    again = RelationDistiller.from_preset(tmp_path / "small", teacher=teacher)
    assert all(map(np.array_equal, again.get_weights(), student.get_weights()))
    refused("only its student", model.save, tmp_path / "model.keras")
    refused("no names.*save_to_preset", model.save_to_hugging_face, tmp_path / "hugging_face")


def test_encoders_that_do_not_fit_are_refused(make_backbone, refused):
    teacher, student = make_backbone(**SIZES), make_backbone()
    for message, other, arguments in (
        ("vocabulary of 30: the student's 16 and 31", make_backbone(vocabulary_size=31), {}),
        ("up to 16 tokens", make_backbone(max_sequence_length=17), {}),
        ("must divide the widths of student and teacher, 16 and 32", student, {"heads": 32}),
        ("must be at least 1; got 0", student, {"heads": 0}),
        ("layer must be at most 0; got 1", student, {"layer": 1}),
        ("layer must be at least -3; got -4", student, {"teacher_layer": -4}),
        ("takes a Backbone", RelationDistiller(student, teacher), {}),
    ):
        arguments = {"num_relation_heads": arguments.pop("heads", None), **arguments}
        refused(message, RelationDistiller, other, teacher, **arguments)
    refused("doesn't give its queries", Backbone.attention_parts, student, student.input)
    assert RelationDistiller(student, teacher).divergence.num_heads == 2


@pytest.mark.slow
def test_steps_are_those_of_a_loop_of_pytorch(make_model, inputs, torch, transformers, tmp_path):
    model, student, teacher = make_model()
    theirs = []
    for name, backbone in (("student", student), ("teacher", teacher)):
        backbone.save_to_hugging_face(tmp_path / name)
        bert = transformers.BertModel.from_pretrained(tmp_path / name, attn_implementation="eager")
        theirs.append(bert.eval())
    x = {name: torch.tensor(values).long() for name, values in inputs.items()}
    mask = x["padding_mask"].bool()

    def logs(bert):
        parts, attention = [], bert.encoder.layer[-1].attention.self
        hooks = [
            getattr(attention, name).register_forward_hook(lambda *call: parts.append(call[-1]))
            for name in ("query", "key", "value")
        ]
        bert(x["token_ids"], x["padding_mask"], x["segment_ids"])
        for hook in hooks:
            hook.remove()
        for part in parts:
            heads = part.unflatten(-1, (4, -1)).transpose(1, 2)
            scores = heads @ heads.mT / heads.shape[-1] ** 0.5
            yield scores.masked_fill(~mask[:, None, None], -1e4).log_softmax(-1)

    named = [*theirs[0].named_parameters()]
    kept = [p for n, p in named if "bias" in n or "LayerNorm" in n]
    decayed = [p for n, p in named if "bias" not in n and "LayerNorm" not in n]
    groups = [{"params": kept, "weight_decay": 0.0}, {"params": decayed, "weight_decay": 0.01}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, eps=1e-6)
    expected, found = [], []
    model.compile(optimizer=AdamW(1e-3))
    for _ in range(20):
        with torch.no_grad():
            targets = [*logs(theirs[1])]
        pairs = zip(targets, logs(theirs[0]), strict=True)
        loss = sum((t.exp() * (t - s)).sum(-1).mean(1)[mask].mean() for t, s in pairs)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in kept + decayed if p.grad is not None], 1.0)
        optimizer.step()
        expected.append(loss.item())
        found.append(float(model.train_on_batch(inputs)))
        model.reset_metrics()
    print(expected[0], expected[-1], np.abs(np.array(found) / expected - 1).max())
    assert found == pytest.approx(expected, rel=1e-5) and expected[-1] < 0.95 * expected[0]
