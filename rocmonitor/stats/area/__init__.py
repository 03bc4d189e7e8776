"""The area under the ROC curve: its standard errors, several models, tests, parts of it, power."""
