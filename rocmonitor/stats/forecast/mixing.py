"""Anderson acceleration of a fixed-point iteration."""

from __future__ import annotations

import numpy as np

from rocmonitor.stats.rows import Floats, parts

_MEMORY = 3  # earlier sweeps that are mixed


class Mixing:
    """Anderson acceleration of ``potential -> placement``, weighted by the weights that it began with."""

    def __init__(self) -> None:
        self._images: list[Floats] = []
        self._changes: list[Floats] = []
        self._products: Floats = np.empty((0, 0))
        self._weights: Floats = np.empty((2, 0))

    def step(self, potential: Floats, image: Floats, shares: Floats, tilt: Floats) -> Floats:
        """Return the mixture of the last images whose changes nearly cancel."""
        if not self._images:
            self._weights = shares * tilt
        for kept in (self._images, self._changes):
            del kept[:-_MEMORY]  # before there are more
        change = image - potential
        self._images.append(image)
        self._changes.append(change)
        row = np.zeros(len(self._changes))
        for part in parts(change.shape[1]):
            weighted = self._weights[:, part] * change[:, part]
            row += [float((weighted * earlier[:, part]).sum(axis=1).sum()) for earlier in self._changes]
        before, products = len(row) - 1, np.empty((len(row), len(row)))
        if before:
            products[:-1, :-1] = self._products[-before:, -before:]
        products[-1], products[:, -1] = row, row
        self._products = products
        if len(row) == 1:
            return image
        # From products of changes to those of their differences to the latest.
        gram = self._products[:-1, :-1] - row[:-1] - row[:-1, np.newaxis] + row[-1]
        share = np.linalg.lstsq(gram, row[-1] - row[:-1], rcond=1e-14)[0]
        mixed = (1 - float(share.sum())) * image
        for part in parts(mixed.shape[1]):
            for factor, earlier in zip(share, self._images[:-1], strict=True):
                mixed[:, part] += factor * earlier[:, part]
        return mixed

    def forget(self) -> None:
        """Begin anew."""
        self._images, self._changes, self._products = [], [], np.empty((0, 0))
