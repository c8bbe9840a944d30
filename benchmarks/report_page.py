"""How large the report's page is, how soon it is drawn, and what a frame of its map costs.

Pages of 10,000 and 100,000 rows of 20 columns are written and opened in Chromium from a file. A frame of the
map is drawn again, and the same points by the barest WebGL program, in the same run: their ratio is what
counts, since a machine without a graphics card draws by software. A page of a million rows is written in a
process of its own for its memory. Prints JSON, writes ``benchmarks/results/report_page.json``
and a page beside it.

    OMP_NUM_THREADS=1 python benchmarks/report_page.py
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from running_parts.running import arguments, print_result
from whyclust.report.inlined import built

SIZES = (10_000, 100_000)
MOST = 1_000_000
COLUMNS = 20
DRAWN = ("seconds to a drawn map", "frame, ms", "bare frame, ms", "ratio")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader "
    "--no-first-run --disable-background-networking --disable-component-update --disable-sync "
    "--window-size=1400,900"
)
# The page's context keeps its program and buffers: drawing again is a whole frame.
FRAMES = (Path(__file__).parent / "report_parts" / "frames.js").read_text(encoding="utf-8")


def write_page(n_rows: int, path: Path) -> dict[str, Any]:
    """Write a page of made-up rows; how long it took, and how large it is beyond the script and the style."""
    import pandas as pd
    from sklearn.cluster import KMeans
    from sklearn.datasets import make_blobs
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import whyclust as wc

    X, _ = make_blobs(n_rows, COLUMNS, centers=8, cluster_std=5.0, random_state=0)
    frame = pd.DataFrame(X.round(3), columns=[f"measure {column}" for column in range(COLUMNS)])
    explained = wc.explain(
        make_pipeline(StandardScaler(), KMeans(8, n_init=1, random_state=0)).fit(frame), frame
    )
    before, start = _peak(), time.process_time()
    explained.to_html(path)
    size = path.stat().st_size - len(built("page.js").encode()) - len(built("page.css").encode())
    return {
        "rows": n_rows,
        "megabytes beyond the bundle": round(size / 1e6, 2),
        "CPU seconds to write": round(time.process_time() - start, 1),
        "peak MB before": round(before),
        "peak MB": round(_peak()),
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def opened(n_rows: int, path: Path) -> dict[str, Any]:
    """Seconds until the map is drawn, and milliseconds of a frame of ours and of a bare one."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS.split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        driver.get("about:blank")
        start = time.perf_counter()
        driver.get(path.as_uri())
        while not driver.execute_script("return document.documentElement.dataset.drawn"):
            time.sleep(0.01)
        seconds = time.perf_counter() - start
        time.sleep(1.0)
        size = max(2.0, min(9.0, 260.0 / n_rows**0.5))
        bare, own = driver.execute_script(FRAMES, n_rows, size)
    finally:
        driver.quit()
    return {
        "seconds to a drawn map": round(seconds, 2),
        "frame, ms": round(own, 1),
        "bare frame, ms": round(bare, 1),
        "ratio": round(own / bare, 2),
    }


def alone(n_rows: int, path: Path) -> dict[str, Any]:
    """Write a page in a process of its own, whose memory is only its."""
    code = (
        "import json, report_page; from pathlib import Path; "
        f"print(json.dumps(report_page.write_page({n_rows}, Path({str(path)!r}))))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    return json.loads(found.stdout.splitlines()[-1])


def page(result: dict[str, Any]) -> str:
    lines = [
        "# The report's page",
        "",
        f"{COLUMNS} columns, eight clusters, k-means. Script and style are {result['bundle kB']} kB. Frames: "
        "the median of five, the best of eight turns, ours and the barest program's, of the same points.",
        "",
        "| rows | MB beyond the bundle | CPU s to write | peak MB, before | peak MB | s to a drawn map "
        "| frame, ms | bare | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in result["runs"]:
        cells = [
            f"{run['rows']:,}",
            run["megabytes beyond the bundle"],
            run["CPU seconds to write"],
            run["peak MB before"],
            run["peak MB"],
            *(
                run.get(name, "–")
                for name in ("seconds to a drawn map", "frame, ms", "bare frame, ms", "ratio")
            ),
        ]
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__ or "", "quick out").parse_args()
    sizes = (500,) if options.quick else (*SIZES, MOST)
    browser = shutil.which("chromium") and shutil.which("chromedriver")
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in sizes:
            path = Path(folder) / f"{n_rows}.html"
            run = alone(n_rows, path)
            drawn = min(n_rows, 100_000)
            runs.append(run | (opened(drawn, path) if browser else {}))
    bundle = round((len(built("page.js").encode()) + len(built("page.css").encode())) / 1000)
    print_result(options, "report_page", {"bundle kB": bundle, "runs": runs}, page)


if __name__ == "__main__":
    main()
