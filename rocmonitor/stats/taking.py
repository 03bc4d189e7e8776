"""Statistics that take arrays in place of a sample."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
K_contra = TypeVar("K_contra", contravariant=True)
Arrays = tuple[ArrayLike, ArrayLike]


class OnSample(Protocol[K_contra, P, R_co]):
    """A statistic that takes ``(y_true, y_score)`` or one sample of a kind."""

    @overload
    def __call__(self, sample: K_contra, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, y_true: ArrayLike, y_score: ArrayLike, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class OnPair(Protocol[K_contra, P, R_co]):
    """A statistic that takes ``(y_true, score_1, score_2)`` or one `PairedSample`."""

    @overload
    def __call__(self, sample: K_contra, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(
        self, y_true: ArrayLike, score_1: ArrayLike, score_2: ArrayLike, *args: P.args, **kwargs: P.kwargs
    ) -> R_co: ...


class OnTwo(Protocol[K_contra, P, R_co]):
    """A statistic of two samples that share no row: two of `Sample`, or four arrays in their place."""

    @overload
    def __call__(self, first: K_contra, second: K_contra, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, first: Arrays, second: Arrays, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(
        self,
        y_true_1: ArrayLike,
        y_score_1: ArrayLike,
        y_true_2: ArrayLike,
        y_score_2: ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R_co: ...


def taking_two(kind: type[Any], function: Callable[..., R]) -> Callable[..., R]:
    """Return the function, with ``(y_true, y_score)`` or two arrays in place of either of two samples."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        name, rest, read = function.__name__, list(args), []
        for place in ("first", "second"):
            if place in kwargs:
                rest.insert(0, kwargs.pop(place))
            is_sample = bool(rest) and hasattr(rest[0], "n_pos")
            is_tuple = bool(rest) and isinstance(rest[0], tuple | list) and len(rest[0]) == 2
            alone = is_sample or (is_tuple and hasattr(rest[0][0], "__len__"))  # else one of two arrays
            taken = 2 if rest and not alone else 1
            if len(rest) < taken:
                raise InputError(
                    f"{name} needs two samples: two of {kind.__name__}, two of "
                    f"(y_true, y_score), or y_true_1, y_score_1, y_true_2, y_score_2; the {place} is missing"
                )
            given, rest = rest[:taken], rest[taken:]
            if is_sample:
                if not isinstance(given[0], kind):
                    raise InputError(f"{name} takes a {kind.__name__}, not a {type(given[0]).__name__}")
                read.append(given[0])
                continue
            try:
                read.append(kind(*(given[0] if taken == 1 else given)))
            except InputError as error:
                raise type(error)(f"{place} sample: {error}") from error
        return function(*read, *rest, **kwargs)

    return call


def taking(
    kind: type[Any],
    names: tuple[str, ...],
    function: Callable[..., R],
    *,
    samples: tuple[type[Any], ...],
    shares: type[Any],
    weighted: bool = False,
) -> Callable[..., R]:
    """Return the function, with arrays in place of its first argument, a sample of this kind.

    Arguments `cluster` and `pos_label` belong to the arrays. `samples` are all kinds of samples, `shares` is
    that of weighted ones, which only a function of the shares accepts (`weighted`).
    """
    of_arrays = {"cluster", "pos_label"} & set(inspect.signature(function).parameters)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        if args and isinstance(args[0], shares):
            if weighted:
                return function(args[0]._proportional, *args[1:], **kwargs)
            raise InputError(
                f"{function.__name__} needs numbers of rows, which a WeightedSample does not have: give it a "
                "Sample; weights are for auc_bounds, auc_distance and auc_path"
            )
        if args and isinstance(args[0], samples):
            if kwargs.get("pos_label") is not None and of_arrays:
                raise InputError("pos_label belongs to labels: a sample has its positives already")
            if not isinstance(args[0], kind):
                raise InputError(
                    f"{function.__name__} takes a {kind.__name__}, not a {type(args[0]).__name__}"
                )
            if kwargs.get("cluster") is not None and of_arrays:
                raise InputError(
                    f"cluster belongs to rows: make the sample by {kind.__name__}(…, cluster=ids), and give "
                    f"{function.__name__} it"
                )
            return function(*args, **kwargs)
        given = list(args[: len(names)])
        for name in names[len(given) :]:
            if name not in kwargs:
                raise InputError(
                    f"{function.__name__} needs {', '.join(names)}, or one {kind.__name__}; {name} is missing"
                )
            given.append(kwargs.pop(name))
        options = {name: kwargs.pop(name) for name in of_arrays if name in kwargs}
        if (pos_label := options.pop("pos_label", None)) is not None:
            given[0] = positives(given[0], pos_label)
        return function(kind(*given, **options), *args[len(names) :], **kwargs)

    # help() shows the arrays in place of the sample.
    own = inspect.signature(function)
    arrays = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    shown = own.replace(parameters=[*arrays, *list(own.parameters.values())[1:]])
    call.__signature__ = shown  # type: ignore[attr-defined]
    return call


def positives(labels: Any, pos_label: object) -> Any:
    """Return 1 where a label is `pos_label`, else 0; missing ones as they are, and in the same order."""
    values = np.asarray(labels, dtype=object)
    present = {label for label in values.ravel().tolist() if _is_known(label)}
    if pos_label not in present or len(present) > 2:
        shown = ", ".join(sorted(map(repr, present))[:4])
        raise InputError(
            f"pos_label must be one of two labels, and y_true holds {shown}: not {pos_label!r} and one other"
        )
    numbers = [int(label == pos_label) if _is_known(label) else label for label in values.ravel().tolist()]
    return type(labels)(numbers, index=labels.index, dtype=object) if hasattr(labels, "iloc") else numbers


def _is_known(value: object) -> bool:
    try:
        return value is not None and bool(value == value)  # NaN is not
    except TypeError:  # the NA of pandas
        return False
