"""What every fitted topic model can do: transform, score, name its topics, be saved and loaded."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from private_topics._version import __version__
from private_topics.corpus.counts.blocks import CountBlocks, as_blocks
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError, ModelFileError
from private_topics.estimators.edited import Edits, checked_edits, checked_labels
from private_topics.estimators.saving import (
    checked_names,
    checked_tokeniser,
    file_digest_of,
    read_model,
    sound_arrays,
    write_model,
)
from private_topics.estimators.topic_list import Topic, topics_of
from private_topics.evaluation.perplexity import document_completion_perplexity
from private_topics.evaluation.relevance import check_lambda, ranked
from private_topics.inference.proportions import proportions, word_weights
from private_topics.parameters import check_integer, check_parameters
from private_topics.threads import limited_threads


@contextmanager
def unchanged_on_failure(model: Any) -> Iterator[None]:
    """Wraps a fit: if it fails, the model is as it was before, unfitted or fitted."""
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    try:
        yield
    except BaseException:
        for name in [name for name in vars(model) if name.endswith("_")]:
            delattr(model, name)
        vars(model).update(before)
        raise


def _plain(value: Any) -> Any:
    """A value as JSON has it: a number of any kind as int or float; None for anything else but text."""
    if isinstance(value, str | bool | np.bool_ | None):
        return bool(value) if isinstance(value, np.bool_) else value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else None


class TopicEstimator(TransformerMixin, BaseEstimator):
    """What every fitted topic model can do, whichever estimator fitted it."""

    components_: np.ndarray
    doc_topic_prior_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray
    tokeniser_: Tokeniser
    topic_labels_: list[str | None]
    """Labels that somebody gave, None for a topic without; absent where there are none. See `labels_of`."""
    edits_: Edits
    """What was changed after the release. Absent where nothing was."""
    library_: str
    """The version that fitted a model read from a file, which stays in the file. Absent where this one did."""
    n_jobs: int | None

    def transform(self, X: Any) -> np.ndarray:
        """Topic proportions of each document (n × k, rows sum to one), given the fitted topics."""
        check_is_fitted(self)
        counts = self._check_counts(X, "transform")
        weights = word_weights(self.components_.T)
        with limited_threads(self.n_jobs):
            return proportions(counts.indptr, counts.indices, counts.data, weights, self.doc_topic_prior_)

    def perplexity(self, X: Any) -> float:
        """Document-completion perplexity: topics of one half of each document, scored on its other half."""
        check_is_fitted(self)
        counts = self._check_counts(X, "perplexity")
        with limited_threads(self.n_jobs):
            return document_completion_perplexity(self.components_, counts)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 (scikit-learn passes it)
        """Mean log-likelihood per held-out word, `-log(perplexity)`: larger is better, for model selection."""
        return -float(np.log(self.perplexity(X)))

    @property
    def topics_(self) -> tuple[Topic, ...]:
        """The topics with their ten most probable words."""
        check_is_fitted(self)
        return topics_of(self)

    def top_words(self, feature_names: Any = None, n: int = 10, *, relevance: float = 1.0) -> list[list[str]]:
        """The `n` most relevant words of each topic, most relevant first.

        `relevance` is the λ of Sievert and Shirley: 1 for the most probable words, smaller for those that tell a
        topic from the others, 0 for those whose lift is largest. 0.6 is usual.
        """
        check_is_fitted(self)
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        if feature_names is None:
            feature_names = [f"word{j}" for j in range(self.n_features_in_)]
        names = np.asarray(feature_names, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise InputError(
                f"top_words needs one name for each of the {self.n_features_in_} words. Got {names.size} names."
            )
        check_integer(n, "n", "top_words", 1)
        check_lambda(relevance, "relevance", "top_words")
        order = ranked(self.components_, self.doc_topic_prior_, relevance)[:, :n]
        return [[str(names[j]) for j in row] for row in order]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002 (scikit-learn passes it)
        """`topic0 … topic(k-1)`: the columns of `transform`."""
        check_is_fitted(self)
        return np.asarray([f"topic{i}" for i in range(len(self.components_))], dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file (no pickle)."""
        check_is_fitted(self)
        write_model(path, *self._parts())

    def _file_digest(self) -> str:
        """SHA-256 of the file that `save` would write now."""
        return file_digest_of(*self._parts())

    def _parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The header and the arrays of the model's file."""
        header: dict[str, Any] = {
            "class": type(self).__name__,
            "library": getattr(self, "library_", __version__),
            "parameters": self._plain_parameters(),
        }
        header.update(self._extra_header())
        if hasattr(self, "feature_names_in_"):
            header["feature_names"] = [str(name) for name in self.feature_names_in_]
        if hasattr(self, "tokeniser_"):
            header["tokeniser"] = self.tokeniser_.to_dict()
        if hasattr(self, "topic_labels_"):
            header["topic_labels"] = self.topic_labels_
        if hasattr(self, "edits_"):
            header["edits"] = asdict(self.edits_)
        return header, {name: np.asarray(getattr(self, name)) for name in self._saved_arrays()}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`."""
        header, arrays = read_model(path)
        if header.get("class") != cls.__name__:
            raise ModelFileError(f"{path} holds another kind of model than {cls.__name__}; use private_topics.load.")
        return cls._from_parts(header, arrays, path)

    @classmethod
    def _from_parts(cls, header: dict[str, Any], arrays: dict[str, np.ndarray], path: Any) -> Self:
        parameters = header.get("parameters")
        if not isinstance(parameters, dict) or not set(parameters) <= set(cls._get_param_names()):
            raise ModelFileError(f"{path} holds parameters that {cls.__name__} does not have.")
        if set(arrays) != set(cls._saved_arrays()):
            raise ModelFileError(f"{path} does not hold the arrays of a {cls.__name__}.")
        model = cls(**parameters)
        try:
            check_parameters(model)
        except InputError:  # its message quotes the value, which comes from an untrusted file
            raise ModelFileError(f"{path} holds a parameter that {cls.__name__} refuses.") from None
        if not sound_arrays(arrays):
            raise ModelFileError(f"{path} does not hold a topic model: its arrays have impossible values.")
        for name, array in arrays.items():
            setattr(model, name, array)
        model.n_features_in_ = arrays["components_"].shape[1]
        if "feature_names" in header:
            model.feature_names_in_ = checked_names(header["feature_names"], model.n_features_in_, path)
        if "tokeniser" in header:
            model.tokeniser_ = checked_tokeniser(header["tokeniser"], path)
        if "topic_labels" in header:
            model.topic_labels_ = checked_labels(header["topic_labels"], len(model.components_), path)
        if "edits" in header:
            model.edits_ = checked_edits(header["edits"], path)
        if isinstance(header.get("library"), str):
            model.library_ = header["library"]
        model._restore(header)
        return model

    @classmethod
    def _saved_arrays(cls) -> tuple[str, ...]:
        return ("components_", "doc_topic_prior_")

    def _extra_header(self) -> dict[str, Any]:
        return {}

    def _restore(self, header: dict[str, Any]) -> None:
        pass

    def _plain_parameters(self) -> dict[str, Any]:
        """Constructor parameters as JSON; a random generator cannot be saved and becomes None.

        What a fit printed is no part of the model.
        """
        parameters = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        return parameters | ({"verbose": False} if "verbose" in parameters else {})

    def _corpus(self, X: Any) -> CountBlocks:
        """Validate `X` for `fit` and remember its width and column names."""
        self._remember_names(X)
        blocks = as_blocks(X, caller=type(self).__name__)
        self.n_features_in_ = blocks.n_words
        return blocks

    def _remember_names(self, X: Any) -> None:
        columns = getattr(X, "columns", None)
        for name in ("feature_names_in_", "tokeniser_", "topic_labels_", "edits_", "library_"):
            if hasattr(self, name):
                delattr(self, name)
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.asarray(columns, dtype=object)
        tokeniser = getattr(X, "tokeniser", None)
        if isinstance(tokeniser, Tokeniser):
            self.tokeniser_ = tokeniser

    def _check_counts(self, X: Any, caller: str) -> Any:
        columns = getattr(X, "columns", None)
        names = getattr(self, "feature_names_in_", None)
        if columns is not None and names is not None and list(columns) != list(names):
            raise InputError("The feature names should match those that were passed during fit, in the same order.\n")
        counts = validate_counts(X, caller=caller)
        if counts.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {counts.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return counts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # scikit-learn's nearest tag to "integer-valued"
        return tags
