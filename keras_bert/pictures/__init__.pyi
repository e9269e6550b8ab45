from keras_bert.pictures.answer_view import show_answers as show_answers
from keras_bert.pictures.answer_view import show_explanation as show_explanation
from keras_bert.pictures.attention_view import show_attention as show_attention
