"""Optimizer, schedule, devices, checkpoints, and the `TrainLoop` of the current Keras backend."""

import keras

if keras.backend.backend() == "tensorflow":
    from keras_bert.training.tensorflow_loop import TrainLoop
elif keras.backend.backend() == "jax":
    from keras_bert.training.jax_loop import TrainLoop
else:
    from keras_bert.training.torch_loop import TrainLoop

__all__ = ["TrainLoop"]
