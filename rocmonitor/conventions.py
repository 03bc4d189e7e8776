"""Conventions that the configuration shares with the statistics.

Here, for whatever reads the configuration imports them, and the statistics take half a second to import.
"""

from typing import Literal

Correlation = Literal["none", "estimated"]
"""The treatment of successive windows: independent, or with their estimated correlation."""

Estimand = Literal["period", "future"]
"""The average of the true differences over the windows so far, or their mean in the long run."""

PER_UNIT = 1638.4
"""Cells of a unit: of log-odds, or of the score. About 20,000 cells for scores from 0.001 to 0.999."""

ENOUGH_WINDOWS = 8
"""Past windows below which a strength of the projection cannot be learned."""

FEWEST_WINDOWS = 3
"""Reference windows with both classes below which no chart of lasting changes can be set up."""
