# SPDX-License-Identifier: BSD-2-Clause
"""`make experiments`: the five published experiments on simulated systems; tables, pictures and an interactive page of what came out."""

import argparse
import os
import signal
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from lab.experiments import page, pictures
from lab.experiments.catalog import EXPERIMENTS
from lab.experiments.results import KEPT, Results, folder
from sim.cocotb_rig import ROOT

DOCUMENT = ROOT / "docs" / "experiments.md"


def clock(seconds):
    """'1:02' of 62 seconds, '1:02:03' of 3723."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def seconds_left(remaining, done_expected, busy, workers):
    """Estimated seconds to go.

    remaining: expected seconds of the tests to come; done_expected, busy: expected and real seconds of those that ended
    """
    # Trust in the expectation: the longest tests run first, and in a first run they take far longer than the mean of their group.
    trust = max(300, remaining / 2)
    pace = min(max((busy + trust) / (done_expected + trust), 0.2), 3)
    return remaining * pace / workers


def stop(*_):
    """A request to end is one, whichever signal brings it."""
    raise KeyboardInterrupt


def run_step(step):
    """(time.monotonic() at its start, figures, None) of a step, or with None and one line that says what went wrong."""
    begin = time.monotonic()
    try:
        return begin, step.run(), None
    except Exception as error:  # whatever one step dies of, the others still measure
        # The last output of a guest stands at the end.
        lines = str(error).splitlines()
        summary = " ... ".join(dict.fromkeys([*lines[:1], *[line.strip() for line in lines[-3:]]]))
        return begin, None, f"{type(error).__name__}: {summary}" if summary else type(error).__name__


def measure(todo, results, long, jobs, say):
    """Runs steps, [(experiment, step)], `jobs` at a time, the longest first; keeps each result at
    once. How many failed."""
    todo = sorted(todo, key=lambda entry: -entry[1].seconds)
    begin, failed, ended, done, busy = time.monotonic(), 0, 0, 0.0, 0.0
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(run_step, entry[1]): entry for entry in todo}
        try:
            while waiting:
                for future in sorted(wait(waiting, return_when=FIRST_COMPLETED).done, key=lambda one: one.result()[0]):
                    experiment, step = waiting.pop(future)
                    since, figures, error = future.result()
                    took = time.monotonic() - since
                    results.put(experiment.name, step.name, long, since, figures, error)
                    failed += error is not None
                    ended, done, busy = ended + 1, done + step.seconds, busy + took
                    left = seconds_left(sum(one.seconds for _, one in waiting.values()), done, busy, jobs)
                    say(
                        f"[{clock(time.monotonic() - begin)}] {ended} of {len(todo)}: {experiment.name} {step.title}: "
                        f"{error or f'{took:.0f} s'}; {f'about {clock(left)} left' if waiting else 'all done'}"
                    )
        except KeyboardInterrupt:
            for future in waiting:
                future.cancel()
            say("interrupted: what was measured is kept, the same command goes on from here")
            # Simulators in the foreground got the signal, too; what a thread still waits for ends with this process.
            os._exit(130)
    return failed


def write_pages(results, experiments, write):
    """Pictures and the page into the folder; with `write` also those of docs/. Paths of what was written."""
    target = folder()
    target.mkdir(parents=True, exist_ok=True)
    images = DOCUMENT.parent / page.IMAGES if write else target
    images.mkdir(parents=True, exist_ok=True)
    for chart in (chart for one in experiments for chart in page.charts_of(one, results)):
        for theme, ending in (("light", ""), ("dark", "-dark")):
            pictures.draw(chart, images / f"{chart.name}{ending}.png", theme)
    interactive = target / "experiments.html"
    interactive.write_text(page.interactive(experiments, results), encoding="utf-8")
    if write:
        results.write(KEPT)
        DOCUMENT.write_text(page.document(experiments, results), encoding="utf-8")
        for one in experiments:
            if one.write_page and (figures := results.figures(one.name)):
                one.write_page(figures, page.how_measured(one, results))
    return [interactive, images, *([DOCUMENT] if write else [])]


def main(argv=None):
    """Measures what is not known yet, writes, and prints the tables; 1 if something could not be measured."""
    names = [one.name for one in EXPERIMENTS]
    parser = argparse.ArgumentParser(prog=page.COMMAND, description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("only", nargs="*", metavar="NAME", help=f"which of them: {', '.join(names)} (default: all)")
    parser.add_argument("--long", action="store_true", help="more samples, whole files: hours instead of half an hour")
    parser.add_argument("--fresh", action="store_true", help="measure again what these sources gave before")
    parser.add_argument("--list", action="store_true", help="say what would be measured, and how long it takes; measure nothing")
    parser.add_argument("--page", action="store_true", help="measure nothing, write pictures and page from docs/experiments.json")
    parser.add_argument("--write", action="store_true", help="docs/experiments.md, its pictures and its data, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="steps at a time (default: %(default)s)")
    args = parser.parse_args(argv)
    unknown = [name for name in args.only if name not in names]
    if unknown:
        parser.error(f"no experiment is called {unknown[0]}: {', '.join(names)}")
    if args.jobs < 1:
        parser.error("--jobs: 1 or more")
    chosen = [one for one in EXPERIMENTS if not args.only or one.name in args.only]
    results = Results(KEPT if args.page else folder() / "results.json")
    results.take_newer(Results(KEPT))
    every = [(one, step) for one in chosen for step in one.steps(args.long)]
    todo = [(one, step) for one, step in every if args.fresh or not results.known(one.name, step.name, args.long)]
    expected = seconds_left(sum(step.seconds for _, step in todo), 0, 0, args.jobs)
    if args.list:
        for one, step in every:
            print(f"{one.name} {step.name:<24} {clock(step.seconds):>8}  {step.title}{'' if (one, step) in todo else ' (known)'}")
        print(f"{len(todo)} of {len(every)} to measure, about {clock(expected)} on {args.jobs} cores")
        return 0
    failed = 0
    if not args.page:
        print(f"{len(todo)} of {len(every)} to measure, about {clock(expected)} on {args.jobs} cores", flush=True)
        signal.signal(signal.SIGTERM, stop)
        for one in chosen:
            wanted = {step.name for step in one.steps(args.long)}
            kept = results.all.get(one.name, {})
            results.all[one.name] = {name: value for name, value in kept.items() if name in wanted}
        failed = measure(todo, results, args.long, args.jobs, lambda line: print(line, flush=True))
    written = write_pages(results, EXPERIMENTS, args.write)
    for one in chosen:
        found = results.figures(one.name)
        print(f"\n{one.name.upper()}: {one.title}\n")
        print("\n".join(one.tables(found)) if found else f"not measured: {page.COMMAND} {one.name}")
        for step, error in sorted(results.errors(one.name).items()):
            print(f"not measured: {step}: {error}")
    print("\n" + "\n".join(f"  {path}" for path in written))
    if failed:
        print(f"experiments: {failed} of {len(todo)} could not be measured", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
