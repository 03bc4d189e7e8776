"""How far the AUC goes when the population moves, Morin (2018), and what may be forecast from it."""
