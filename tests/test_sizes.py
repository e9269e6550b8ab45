import keras
from keras.src.backend.common import global_state

from keras_bert import BertBackbone, BertPretrainer, sizes

VOCABULARY_SIZE = 30522  # of the uncased English models

PUBLISHED_ENCODERS = {"base": 109_482_240, "large": 335_141_888}

# In millions, with the masked-LM head: Turc et al. 2019, table 1.
PUBLISHED_MILLIONS = {"tiny": 4.4, "mini": 11.3, "small": 29.1, "medium": 41.7}


def num_weights(name, make=lambda backbone: backbone):
    with keras.StatelessScope(initialize_variables=False):  # neither memory nor time for weights
        number = make(BertBackbone(VOCABULARY_SIZE, **sizes.SIZES[name])).count_params()
    global_state.set_global_attribute("uninitialized_variables", [])  # the next scope would draw
    return number


def test_models_have_as_many_weights_as_published():
    for name, number in PUBLISHED_ENCODERS.items():
        assert num_weights(name) == number
    for name, millions in PUBLISHED_MILLIONS.items():
        weights = num_weights(name, lambda backbone: BertPretrainer(backbone, next_sentence=False))
        assert round(weights / 1e6, 1) == millions


def test_the_24_are_2_to_12_layers_of_128_to_768_units_with_heads_of_64():
    shapes = {(size["num_layers"], size["hidden_dim"]) for size in sizes.SMALL_MODELS.values()}
    assert shapes == {(layers, dim) for layers in range(2, 13, 2) for dim in (128, 256, 512, 768)}
    for size in sizes.SIZES.values():
        assert size["hidden_dim"] == 64 * size["num_heads"] == size["intermediate_dim"] // 4
