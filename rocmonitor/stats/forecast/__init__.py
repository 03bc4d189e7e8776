"""How far the AUC moves when the population changes, and the forecasts that follow from it."""
