from keras_bert.planning.plan import Plan as Plan
