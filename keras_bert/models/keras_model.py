"""`keras.Model`, with a stub beside it.

Type checkers know nothing of Keras's classes and take each attribute of their subclasses for right,
misspelled ones too.
"""

from keras import Model as Model
