"""A hook of the site: search that also works where a browser opens the pages as files.

There a page may neither start a worker nor read JSON, which is how the theme searches; it may load scripts. So the
index becomes a script, which `search.js` loads and searches itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_post_build(config: Any, **_: Any) -> None:
    folder = Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "index.js").write_text(f"searchFor({index});\n", encoding="utf-8")
    (folder / "main.js").write_bytes(Path(__file__).with_name("search.js").read_bytes())
    for name in ("worker.js", "lunr.js", "search_index.json"):
        (folder / name).unlink(missing_ok=True)
