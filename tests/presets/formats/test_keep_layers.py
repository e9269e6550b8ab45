"""`keep_layers`: a model of some layers of a source, whatever its format."""

import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertEmbedder, BertTask
from keras_bert.presets.formats.checkpoint import renumbered

pytest.importorskip("tensorflow", reason="pip install tensorflow")

KEPT = (1, 2, 4)


@pytest.fixture
def whole(backbone, randomized):
    return randomized(BertClassifier(backbone(num_layers=5, activation="gelu_approximate"), 2))


@pytest.fixture
def by_hand(weights_of):
    """The weights of a model that has only the layers `KEPT`, copied by hand."""

    def copied(model):
        weights = weights_of(model)
        kept = {path: array for path, array in weights.items() if not path.startswith("block_")}
        for place, layer in enumerate(KEPT):
            old, new = f"block_{layer}/", f"block_{place}/"
            kept |= {p.replace(old, new): a for p, a in weights.items() if p.startswith(old)}
        return kept

    return copied


def test_the_layers_are_those_copied_by_hand(whole, by_hand, same, tmp_path, refused):
    for save in (whole.save_to_preset, whole.save_to_hugging_face):
        folder = tmp_path / save.__name__
        save(folder)
        model = BertTask.from_preset(folder, keep_layers=KEPT)
        assert type(model) is BertClassifier and same(model, by_hand(whole))
        assert not model.load_report.new
        _, source = model.load_report.matched["block_2/output_dense/kernel"]
        assert "4" in source and len(model.load_report.left_over) >= 2 * 12
        encoder = BertBackbone.from_preset(folder, keep_layers=np.array(KEPT), dropout=0.3)
        assert same(encoder, by_hand(whole.backbone)) and encoder.dropout == 0.3
        for layers in [(1, 5), (-1,), (1, 1), (2, 0), (), "024", [[0]]]:
            message = r"keep_layers must be .* 0 to 4, .* \(0, 2, 4\); got"
            refused(message, BertBackbone.from_preset, folder, keep_layers=layers)


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_a_quantized_preset_is_refused(whole, tmp_path, refused):
    whole.quantize("int8")
    whole.save_to_preset(tmp_path)
    refused("is quantized", BertClassifier.from_preset, tmp_path, keep_layers=KEPT)


def test_chosen_layers_are_counted_again(whole, by_hand, same, tmp_path, refused):
    embedder = BertEmbedder(whole.backbone, layers=[-1, -4], combine="weighted")
    embedder.save_to_preset(tmp_path)
    refused("reads layers=", BertEmbedder.from_preset, tmp_path, keep_layers=KEPT)
    model = BertEmbedder.from_preset(tmp_path, keep_layers=KEPT, layers=[3, 1])
    assert model.chosen_layers == [3, 1] and same(model, by_hand(embedder))


def test_other_layers_are_not_read(whole, by_hand, same, tmp_path, refused):
    embedder = BertEmbedder(whole.backbone, pooling="max")
    kernel = whole.backbone.blocks[3].output_dense.kernel
    kernel.assign(np.nan * kernel)
    embedder.save_to_hugging_face(tmp_path)
    refused("must be finite", BertEmbedder.from_preset, tmp_path)
    model = BertEmbedder.from_preset(tmp_path, keep_layers=KEPT)
    assert model.pooling == "max" and same(model, by_hand(embedder))


def test_blocks_within_a_layer_are_renumbered_by_their_whole_path():
    kept = renumbered({"tower/b/bias": 2}, ["tower/a", "tower/b"], [1])
    assert kept == {"tower/a/bias": 2}
