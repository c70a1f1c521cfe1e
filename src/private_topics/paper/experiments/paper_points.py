"""The paper's own numbers: every point of its figures, and the table of top words, with the place they come from."""

from __future__ import annotations

import re

Curve = dict[float, float]


def _curves(table: str) -> dict[str, dict[str, Curve]]:
    """A table with one curve a line: its figure or size, its method, and its values at the epsilons of the header."""
    header, *lines = (re.split(" {2,}", line) for line in table.strip().splitlines())
    epsilons = [float(cell) for cell in header[2:]]
    curves: dict[str, dict[str, Curve]] = {}
    for group, method, *cells in lines:
        points = zip(epsilons, cells, strict=True)
        curves.setdefault(group, {})[method] = {epsilon: float(cell) for epsilon, cell in points if cell != "-"}
    return curves


ERRORS = _curves("""
figure     method    0                  1                  2                  3
figure-2a  config 1  1.70594550966198   1.28398947011284   1.18338165809891   1.27255437078678
figure-2a  config 2  1.33286009184361   1.14460181389032   1.34773868515684   1.35447131943987
figure-2a  config 3  1.72460899995441   1.72707732837965   1.70630116946049   1.71926649934667
figure-2a  config 4  1.72085812921996   1.72387905146362   1.73804689545208   1.7393704973639
figure-2a  vi        5.6799999911291    5.51999999619819   5.45000000792045   5.38000000063364
figure-2b  config 1  -                  1.75039638685495   1.73373591508456   1.75219733663742
figure-2b  config 2  1.73710173508999   1.61703841625879   1.76184287292555   1.33215783924554
figure-2b  config 3  1.75032893555224   1.74025845605702   1.73586737625032   1.74163446263238
figure-2b  config 4  1.74209313149084   1.73758063933926   1.76941090909008   1.76075016182158
figure-2c  config 1  1.69729885158889   0.746910098574411  0.70772973314965   0.26354904314493
figure-2c  config 2  0.615495418797017  0.265131358571323  0.262864336253306  0.263961730169281
figure-2c  config 3  1.7312842268301    1.71554243140836   1.71677117803453   1.7087132310229
figure-2c  config 4  1.72436587388157   1.6983240110188    1.74602937643485   1.72221214565222
figure-2c  vi        5.59361999673614   5.46217999687047   5.33382999822804   5.23788999771289
""")
"""Figure 2: "Error" against composite epsilon, delta = 1e-7. alpha0 = 0.1 in 2a, 1000 in 2b and 2c;
N = 1,000 in 2b, 100,000 in 2a and 2c."""

_WITHOUT_NOISE = {
    "vi-u": {"figure-2a": 4.91000004403769, "figure-2c": 4.56999992174597},
    "unnoised": {"figure-2a": 0.216751741255057, "figure-2b": 0.909406799484555, "figure-2c": 0.263745406892583},
}
for _method, _values in _WITHOUT_NOISE.items():  # the same at every epsilon
    for _figure, _value in _values.items():
        ERRORS[_figure][_method] = dict.fromkeys((0, 1, 2, 3), _value)

SINGULAR_VALUES: Curve = {
    0.1: 0.0145533889337986,
    0.5: 0.0156622436036462,
    1: 0.0162148307340445,
    5: 0.0223537530314083,
    10: 0.032158362743745,
    50: 0.0953294294708755,
    100: 0.215072589496375,
    500: 0.890369815388053,
    1000: 1.51476698410195,
}
"""Figure 3a: alpha0 against the k-th singular value of M2, k = 3, N = 100,000."""

GAPS: Curve = {
    3: -0.383571196488132,
    10: -0.365480573990455,
    30: -0.38403853134846,
    100: -0.304713612985179,
    300: -0.286291961628103,
}
"""Figure 3b: k against the "Smallest Eigenvalue Gap" of T, alpha0 = 1000, N = 100,000. Printed negative."""

PERPLEXITY = {
    int(topics): curves
    for topics, curves in _curves("""
topics  method    1        0.1      0.001
25      config 1  4055.62  7556.68  7588.9
25      config 2  2168.73  4153.23  4387.79
25      config 3  4354.71  7851.27  7896.12
25      config 4  4053.18  7646.11  7874.07
25      vi        3755.42  8245.89  8203.59
100     config 1  2381.24  4367.87  4438.92
100     config 2  1212.12  2458.43  2616.71
100     config 3  2530.77  4571.86  4590.93
100     config 4  2271.44  4468.8   4650.89
100     vi        2276.69  4781.76  4740.83
500     config 1  2332.69  4217.5   4192.52
500     config 2  1241.86  2230.05  2492.8
500     config 3  1856.4   2876.61  3306.08
500     config 4  2213.43  4301.96  4320.48
500     vi        2125.06  4466.04  4511.79
""").items()
}
"""Figure 4: topics, method, epsilon against perplexity on Wikipedia."""

TOP_WORDS: tuple[tuple[str, ...], ...] = (
    ("air", "th", "force", "squadron", "special", "operations", "test", "august", "december", "mission"),
    ("music", "composition", "kaufmann", "works", "dieter", "vienna", "acoustic", "electro", "des", "president"),
    ("river", "barnstaple", "yeo", "taw", "flooding", "tributary", "rivers", "south", "devon", "flows"),
)
"""Table of App. L: three topics of Wikipedia at epsilon = 1; which configuration and how many topics is not said."""
