from keras_bert.pictures.answer_view import show_answers as show_answers
from keras_bert.pictures.answer_view import show_explanation as show_explanation
from keras_bert.pictures.attention_view import show_attention as show_attention
from keras_bert.pictures.run_curves import plot_curves as plot_curves
from keras_bert.pictures.vector_picture import plot_vectors as plot_vectors
