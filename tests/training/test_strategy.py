import pytest


@pytest.fixture
def get_strategy(tensorflow):
    from keras_bert.training.strategy import get_strategy

    return get_strategy


def test_the_cpu_has_one_replica(get_strategy):
    assert get_strategy("cpu").num_replicas_in_sync == 1


def test_mirrored_takes_what_there_is(get_strategy, tensorflow):
    strategy = get_strategy("mirrored")
    assert isinstance(strategy, tensorflow.distribute.MirroredStrategy)
    assert strategy.num_replicas_in_sync == max(
        1, len(tensorflow.config.list_logical_devices("GPU"))
    )


def test_auto_finds_the_cpu_where_there_is_nothing_else(get_strategy, tensorflow):
    if tensorflow.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")
    assert get_strategy("auto") is get_strategy("cpu")


def test_a_tpu_that_is_not_there_is_told(get_strategy):
    with pytest.raises(ValueError, match="No TPU was found.*choose.*'mirrored' or 'cpu'"):
        get_strategy("tpu")


def test_an_unknown_name_is_told(get_strategy):
    with pytest.raises(ValueError, match="Unknown strategy 'gpus': choose 'auto'"):
        get_strategy("gpus")
