"""Points of the ROC curve, of one model and of two: exact laws and intervals, Dugas and Gadoury (2009)."""
