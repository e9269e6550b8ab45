"""An LSTM between an encoder and a head, as in the paper's table 5."""

import keras

import keras_bert


@keras.saving.register_keras_serializable(package="keras_bert_recipes")
class BiLSTM(keras.layers.Layer):
    """Reads token vectors from both ends: `[B, S, 2U]`, and the last states, `[B, 2U]`."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        lstm = keras.layers.LSTM(units, return_sequences=True, return_state=True, name="lstm")
        self.both = keras.layers.Bidirectional(lstm, name="both")

    def call(self, x, padding_mask=None):
        if padding_mask is not None:
            padding_mask = keras.ops.cast(padding_mask, "bool")
        vectors, forward, _, backward, _ = self.both(x, mask=padding_mask)
        return vectors, keras.ops.concatenate([forward, backward], axis=-1)


@keras.saving.register_keras_serializable(package="keras_bert_recipes")
class BiLSTMEncoder(keras_bert.Backbone):
    """An encoder and an LSTM over its vectors, which is trained with it."""

    def __init__(self, encoder, units, **kwargs):
        inputs = dict(encoder.input)
        lstm = BiLSTM(units, name="bilstm")
        vectors, last = lstm(encoder(inputs)["sequence_output"], inputs["padding_mask"])
        super().__init__(
            inputs,
            {"sequence_output": vectors, "pooled_output": last},
            embeddings=encoder.embeddings,
            blocks=encoder.blocks,
            vocabulary_size=encoder.vocabulary_size,
            hidden_dim=2 * units,
            max_sequence_length=encoder.max_sequence_length,
            **kwargs,
        )
        self.encoder, self.units = encoder, units
        self.num_segments = encoder.num_segments

    def unused_by(self, output):
        return self.encoder.unused_by("sequence_output")

    def get_config(self):
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {"name": self.name, "encoder": encoder, "units": self.units}

    @classmethod
    def from_config(cls, config):
        keras_bert.BertBackbone  # noqa: B018 (its import registers it, the encoder's class)
        encoder = keras.saving.deserialize_keras_object(config["encoder"])
        return cls(**{**config, "encoder": encoder})


def with_bilstm(model, units):
    """Makes a task like `model` with a new head on an LSTM over its encoder."""
    if not units:
        return model
    parts = {"backbone": BiLSTMEncoder(model.backbone, units), "preprocessor": model.preprocessor}
    return type(model)(**{**model.get_config(), **parts})
