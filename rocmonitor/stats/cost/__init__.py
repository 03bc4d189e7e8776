"""The cost of decisions: cost curves of one model and of two, Dugas and Gadoury (2008)."""
