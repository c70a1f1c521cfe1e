"""From released moments to topics: frame, central moments, whitening, tensor, topics (algorithm.md, sections 2 to 4).

Inside the frame moments are taken as deviations from the released unigram, with a column of ones that counts the
documents; the known coordinate of the mean is joined to the whitened tensor (public_knowledge.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import mpmath

from reference.denoising import Vector, normalised, on_simplex

Matrix = list[Vector]
Tensor = dict[tuple[int, int, int], float]

ABOVE_EDGE = 1.05
SMALLEST_INSIDE, SMALLEST_ALONG = 0.05, 1e-3
SHOWN = 10
ITERATIONS, STARTS = 300, 8


def eigenpairs(matrix: Matrix) -> list[tuple[float, Vector]]:
    """Largest first; the largest entry of a vector is positive."""
    values, vectors = mpmath.eigsy(mpmath.matrix(matrix))
    found = []
    for place in sorted(range(len(matrix)), key=lambda place: -values[place]):
        vector = [float(vectors[row, place]) for row in range(len(matrix))]
        sign = 1.0 if max(vector, key=abs) > 0 else -1.0
        found.append((float(values[place]), [sign * entry for entry in vector]))
    return found


@dataclass
class Frame:
    values: Vector  # floored at the edge of the noise
    vectors: Matrix  # one for each value
    eigenvalues: Vector
    edge: float

    @property
    def supported(self) -> int:
        return sum(value > ABOVE_EDGE * self.edge for value in self.eigenvalues)

    def rows(self, first: Vector) -> Matrix:
        """A one, and how a word deviates from the unigram along the whitened directions; last, all other words."""
        scaled = [[entry / math.sqrt(value) for entry in vector]
                  for value, vector in zip(self.values, self.vectors, strict=True)]  # fmt: skip
        middle = [sum(p * entry for p, entry in zip(first, vector, strict=True)) for vector in scaled]
        inside = [[1.0, *(vector[word] - m for vector, m in zip(scaled, middle, strict=True))]
                  for word in range(len(first))]  # fmt: skip
        return [*inside, [1.0, *(-m for m in middle)]]

    def on_words(self, coordinates: Vector) -> Vector:
        return [
            sum(math.sqrt(value) * vector[word] * x
                for value, vector, x in zip(self.values, self.vectors, coordinates, strict=True))
            for word in range(len(self.vectors[0]))
        ]  # fmt: skip

    def matrix(self) -> Matrix:
        """Directions × words."""
        return [[entry / math.sqrt(value) for entry in vector]
                for value, vector in zip(self.values, self.vectors, strict=True)]  # fmt: skip


def frame_of(second: Matrix, first: Vector, alpha0: float, noise: float) -> Frame:
    """The directions of `M2 = E2 - α0/(α0+1) mm'`; noise of this size has the spectral norm `noise √(2d)`."""
    size = range(len(first))
    moment = [[second[i][j] - alpha0 / (alpha0 + 1) * first[i] * first[j] for j in size] for i in size]
    edge = noise * math.sqrt(2 * len(first))
    pairs = eigenpairs(moment)
    floored = [max(value, edge) for value, _ in pairs]
    return Frame(floored, [vector for _, vector in pairs], [value for value, _ in pairs], edge)


def leading(frame: Frame, rank: int) -> Frame:
    return Frame(frame.values[:rank], frame.vectors[:rank], frame.eigenvalues[:rank], frame.edge)


@dataclass
class Central:
    """Mean, second and third central moment inside a frame, and the noise of the second."""

    mean: Vector
    second: Matrix
    third: Tensor
    noise: float


def central(second: Matrix, third: Tensor, noise: float, third_noise: float) -> Central:
    """`C2 = A2 - ψψ'`, `C3 = A3 - (A2⊗ψ, three placements) + 2 ψ⊗ψ⊗ψ`; entry 0 counts the documents as clipped."""
    weight, third_weight = max(second[0][0], noise), max(third[0, 0, 0], third_noise)
    size = range(len(second) - 1)
    mean = [second[0][a + 1] / weight for a in size]
    raw = [[second[a + 1][b + 1] / weight for b in size] for a in size]
    cube = {
        (a, b, c): third[a + 1, b + 1, c + 1] / third_weight
        - raw[a][b] * mean[c] - raw[a][c] * mean[b] - raw[b][c] * mean[a]
        + 2 * mean[a] * mean[b] * mean[c]
        for a, b, c in itertools.product(size, repeat=3)
    }  # fmt: skip
    return Central(mean, [[raw[a][b] - mean[a] * mean[b] for b in size] for a in size], cube, noise / weight)


def directions(moments: Central, alpha0: float, n_topics: int) -> tuple[Matrix, Vector]:
    """For each topic its deviation from the mean, in the frame's coordinates, and its share."""
    size = range(len(moments.second))
    edge = moments.noise * math.sqrt(2 * len(moments.second))
    pairs = eigenpairs(moments.second)[: n_topics - 1]
    values = [max(value, SMALLEST_INSIDE, edge) for value, _ in pairs]
    white = [[entry / math.sqrt(value) for entry in vector]
             for value, (_, vector) in zip(values, pairs, strict=True)]  # fmt: skip
    known = 2 * math.sqrt(alpha0 + 1) / (alpha0 + 2)
    tensor = dict.fromkeys(itertools.product(range(n_topics), repeat=3), 0.0)
    for i, j, m in itertools.product(range(n_topics - 1), repeat=3):
        tensor[i + 1, j + 1, m + 1] = sum(
            moments.third[a, b, c] * white[i][a] * white[j][b] * white[m][c]
            for a, b, c in itertools.product(size, repeat=3)
        )
    for j in range(n_topics):
        tensor[0, j, j] = tensor[j, 0, j] = tensor[j, j, 0] = known
    deviations, shares = [], []
    for vector in eigenvectors(tensor, n_topics):
        sign = -1.0 if vector[0] < 0 else 1.0
        along = max(sign * vector[0], SMALLEST_ALONG)
        whitened = [math.sqrt(alpha0 + 1) * sign * entry / along for entry in vector[1:]]
        deviations.append([
            sum(math.sqrt(value) * pair[1][a] * x for value, pair, x in zip(values, pairs, whitened, strict=True))
            for a in size
        ])  # fmt: skip
        shares.append(along**2)
    return deviations, normalised(shares)


def eigenvectors(tensor: Tensor, rank: int) -> Matrix:
    """The simultaneous power method, `V ← QR(T(I, v_j, v_j))` by falling |λ|, the start of largest Σλ²."""
    best, best_energy = None, -1.0
    for start in _starts(tensor, rank):
        vectors = start
        for _ in range(ITERATIONS):
            images = [_image(tensor, vector) for vector in vectors]
            order = sorted(range(rank), key=lambda j: -abs(_dot(vectors[j], images[j])))
            vectors = _orthonormal([images[j] for j in order])
        values = [_dot(vector, _image(tensor, vector)) for vector in vectors]
        energy = sum(value**2 for value in values)
        if energy > best_energy * (1 + 1e-9):
            best_energy = energy
            found = sorted(zip(values, vectors, strict=True), key=lambda pair: -abs(pair[0]))
            best = [[math.copysign(1.0, value) * entry for entry in vector] for value, vector in found]
    assert best is not None
    return best


def _starts(tensor: Tensor, rank: int) -> list[Matrix]:
    """Eigenvectors of `T(I, I, w)`, `w_a = Σ_b T_abb`, and turned copies of them."""
    size = range(rank)
    along = [sum(tensor[a, b, b] for b in size) for a in size]
    contracted = [[sum(tensor[a, b, c] * along[c] for c in size) for b in size] for a in size]
    first = [vector for _, vector in eigenpairs(contracted)]
    turned = [
        _orthonormal([[math.cos(1.0 + 3 * turn + 5 * j + 7 * a) for a in size] for j in size])
        for turn in range(1, STARTS)
    ]
    return [first, *turned]


def _image(tensor: Tensor, vector: Vector) -> Vector:
    size = range(len(vector))
    return [sum(tensor[a, b, c] * vector[b] * vector[c] for b in size for c in size) for a in size]


def _orthonormal(vectors: Matrix) -> Matrix:
    """Gram and Schmidt, each vector after the ones before it."""
    found: Matrix = []
    for vector in vectors:
        for _ in range(2):
            for other in found:
                along = _dot(vector, other)
                vector = [x - along * y for x, y in zip(vector, other, strict=True)]
        length = math.sqrt(_dot(vector, vector))
        found.append([x / length for x in vector])
    return found


def topics_of(frame: Frame, moments: Central, deviations: Matrix, first: Vector) -> Matrix:
    """Topics on the words of the frame, each a distribution."""
    found = []
    for deviation in deviations:
        shift = frame.on_words([m + x for m, x in zip(moments.mean, deviation, strict=True)])
        topic = [p + x for p, x in zip(first, shift, strict=True)]
        total = sum(topic)
        found.append(on_simplex([entry / total for entry in topic]))
    return found


def unexplained(
    topics: Matrix, shares: Vector, frame: Frame, moments: Central, first: Vector, alpha0: float
) -> float:
    """What topics leave over of the second moment inside the frame, relative to its norm."""
    rows = [[_dot([t - p for t, p in zip(topic, first, strict=True)], direction) for direction in frame.matrix()]
            for topic in topics]  # fmt: skip
    size = range(len(frame.values))
    mean = [sum(share * row[a] for share, row in zip(shares, rows, strict=True)) for a in size]
    rows = [[entry - m for entry, m in zip(row, mean, strict=True)] for row in rows]
    gap = norm = 0.0
    for a, b in itertools.product(size, repeat=2):
        made = sum(share * row[a] * row[b] for share, row in zip(shares, rows, strict=True)) / (alpha0 + 1)
        gap += (made - moments.second[a][b]) ** 2
        norm += moments.second[a][b] ** 2
    return math.sqrt(gap / norm)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))
