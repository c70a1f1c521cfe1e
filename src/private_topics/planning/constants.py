"""The numbers behind a forecast that no theory gives: what is assumed of a corpus, and what was fitted to corpora."""

from __future__ import annotations

# what is assumed of a corpus
LENGTH = 50.0  # words of a document that are in the vocabulary: stop words and rare ones are not
WORDS_PER_TOPIC = 60.0
FEWEST_DOCUMENTS = 3
COMMON_WEIGHT = 0.032  # the 20th word of a vocabulary, per unit: the largest of research/common_words.py

# what counts as found, and as good
LARGEST_ERROR = 0.5  # a topic with a larger error counts as not found
TARGET_ERROR = 0.25  # what `documents_needed` of an outcome is for
NO_TOPIC = 1.0  # the relative error of an uninformative estimate
PRECISION = 2.0  # forecasts within this factor, about their own accuracy, do not tell which configuration is better

# fits without public knowledge: research/plan_cells.py, research/results/forecast.md
SEEN, SEEN_BY_LENGTH, SEEN_BY_EDGE = 0.0255, 0.407, 0.966  # fitted to real text
UNEVEN = 0.9  # of the mass is left where lengths vary as in real text
START_KEPT, OUTSIDE_KEPT = 0.5, 0.1  # what refinement keeps of the noise of the start and of the words left out
CLIP_BIAS, REFINED_BIAS = 0.02, 0.01  # the error from clipping at any epsilon

# the test of a fit's topics: benchmarks/results/own_topics.md
AGREEMENT = 0.28  # of both parts of a document, over all topics: 0.13 to 0.36 with vectors at epsilon 1
UNEVENLY = 2.0  # assumed: topics show from not at all to twice the average, all as likely

# fits with public knowledge: research/knowledge_cells.py
LOOK_TRIED, LOOK_SURE = (
    60.0,
    600.0,
)  # mu times documents: less was not tried; from the second on all topics were found
KNOWN_ERROR = 0.15  # fitted to topics made of the vectors
LOST, LOST_BY_NOISE, LOST_BY_LENGTH = 0.73, 0.2, 0.25  # fitted to real text that the vectors were not made from
LEAST_LOST, MOST_LOST = 0.35, 1.4  # times as much is lost where the vectors know the corpus well, or badly
