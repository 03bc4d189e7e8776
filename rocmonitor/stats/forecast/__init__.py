"""The change of the AUC when the population changes, and the forecasts that follow."""
