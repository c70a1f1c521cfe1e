"""One site as a process, for `flower.py`: `python research/flower_site.py FOLDER NAME ADDRESS TRANSPORT WHAT`.

TRANSPORT is "flower" (see `flower_adapter.py`) or "own"; WHAT is "fit", or "nothing" for answers to empty questions.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from private_topics import PrivateSpectralLDA, Site, SiteDirectory, SiteIdentity, make_lda_corpus
from private_topics.engines.sites.transport import SiteCall

DOCUMENTS, WORDS, TOPICS = 4_000, 500, 10


def main(folder: Path, name: str, address: str, transport: str, what: str) -> None:
    directory = SiteDirectory.read(folder / "sites.json")
    number, root = directory.names.index(name), folder / "root.pem"
    site = Site(SiteIdentity.read(folder / f"{name}.key"), directory, [str(word) for word in range(WORDS)])
    if what == "nothing":
        site.answer = lambda data, timeout=None: data  # type: ignore[method-assign]
    counts, _, _ = make_lda_corpus(DOCUMENTS, WORDS, TOPICS, random_state=0)

    def fit() -> None:
        settings = {"noise_seed": number, "sampler": "fast", "n_jobs": 1, "epsilon": 60.0}
        PrivateSpectralLDA(TOPICS, engine=site, **settings).fit(counts[number :: len(directory.names)])

    work = fit if what == "fit" else threading.Event().wait
    if transport == "own":
        with SiteCall(site, address, root.read_bytes()):
            work()
        return
    from flower_adapter import serve

    arguments = (site.answer, name, address, str(root), str(folder / f"{name}.node"))
    threading.Thread(target=serve, args=arguments, daemon=True).start()
    work()
    threading.Event().wait(10.0)  # the coordinator is told that the fit is over


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
