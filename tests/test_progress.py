"""Whoever waits longer than two seconds sees what is being done, and how far it is."""

import io
import os
import re
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

import whyclust as wc
from whyclust import _progress
from whyclust._progress import Bar, Lines, Stages, Watch, done, is_watched, stage, step, waiting, watched
from whyclust.cluster import PrototypeSurrogate, choose_k
from whyclust.command.progress import STAGES, shown


class Clock:
    """Time, and timers that go off when it comes."""

    def __init__(self):
        self.now, self.timers = 100.0, []

    def monotonic(self):
        return self.now

    def timer(self, seconds, function):
        made = Timer(self, seconds, function)
        self.timers.append(made)
        return made

    def wait(self, seconds):
        self.now += seconds
        for one in self.timers:
            if one.due is not None and one.due <= self.now:
                one.due = None
                one.function()


class Timer:
    def __init__(self, clock, seconds, function):
        self.clock, self.seconds, self.function, self.due = clock, seconds, function, None

    def start(self):
        self.due = self.clock.now + self.seconds

    def cancel(self):
        self.due = None


class Seen:
    """A display that keeps what it was shown."""

    made = ()

    def __init__(self):
        self.told, self.closed = [], False
        Seen.made = (*Seen.made, self)

    def show(self, share, message):
        self.told.append((share, message))

    def close(self):
        self.closed = True


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(_progress, "Timer", found.timer)
    monkeypatch.setattr(_progress.time, "monotonic", found.monotonic)
    return found


@pytest.fixture
def terminal(monkeypatch):
    """Standard error is a terminal on which two seconds are over at once, and its bars are kept."""

    class AtOnce(Timer):
        def start(self):
            self.function()

    monkeypatch.setattr(_progress, "Timer", lambda seconds, function: AtOnce(None, seconds, function))
    monkeypatch.setattr(_progress, "sys", SimpleNamespace(stderr=Terminal(), modules=sys.modules))
    monkeypatch.setattr(_progress, "Bar", Seen)
    monkeypatch.setattr(Seen, "made", ())
    return Seen


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    labels = np.arange(90) % 3
    return generator.normal(size=(90, 4)) + 5.0 * labels[:, None], labels


@pytest.fixture(scope="module")
def bent():
    """Labels whose border no plane is, so that the page cannot find changes by itself."""
    return make_moons(80, noise=0.05, random_state=0)


def checked(bars, first, *names):
    """The one bar there was told of these stages, from the first on, and went up to at most all."""
    (bar,) = bars.made
    shares = [share for share, _ in bar.told]
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] <= shares[-1] <= 1.0
    assert shares[-1] > 0.5
    messages = [message for _, message in bar.told]
    assert messages[0].startswith(first)
    for name in names:
        assert any(message.startswith(name) for message in messages), name
    assert bar.closed


def test_steps_move_within_their_stage():
    stages = Stages({"Reading": 1.0, "Fitting": 2.0, "Writing": 1.0})
    stages.begin("Fitting: first")  # nothing was read
    assert stages.share == 0.0
    stages.step(0, 2)
    stages.done(0.5)
    assert stages.share == pytest.approx(2 / 3 * 0.25)
    stages.begin("Fitting: second")
    stages.step(1, 2)
    assert stages.share == pytest.approx(1 / 3)
    stages.step(0, 2)
    stages.begin("Reading again")
    stages.done(7.0)
    assert stages.share == pytest.approx(1 / 3)  # never less
    stages.begin("Writing")
    stages.done(7.0)
    assert stages.share == pytest.approx(2 / 3 + 1 / 3 / 6)


def test_nothing_is_shown_before_two_seconds(clock):
    seen = Seen()
    with watched(Watch({"Fitting": 1.0}, seen, 2.0)):
        stage("Fitting")
        clock.wait(1.9)
        done(0.5)
        assert seen.told == []
        clock.wait(0.2)
        assert seen.told == [(pytest.approx(0.5 / 6), "Fitting")]  # though nothing was said meanwhile
        step(1, 2)
        assert seen.told[-1] == (0.5, "Fitting")
    assert seen.closed
    stage("Fitting")
    assert len(seen.told) == 2


def test_short_jobs_show_nothing(clock):
    seen = Seen()
    with watched(Watch({"Fitting": 1.0}, seen, 2.0)):
        stage("Fitting")
    clock.wait(9.0)
    assert seen.told == []


def test_a_long_first_stage_is_told_while_it_runs(clock, capsys):
    with shown(False) as tell:
        tell("Reading the table")
        clock.wait(2.1)
        assert capsys.readouterr().err == "  0% Reading the table\n"
        tell("Clustering 9 rows into 2 clusters")
        tell("Clustering: once more")
    assert re.fullmatch(
        r" *\d+% Clustering 9 rows into 2 clusters\n +\d+% Clustering: once more\n", err(capsys)
    )


def err(capsys):
    return capsys.readouterr().err


def test_lines_are_one_a_stage_and_more_where_it_takes_long(clock, capsys):
    lines = Lines()
    for share, message in ((0.1, "Fitting"), (0.2, "Fitting: two"), (0.3, "Fitting: three")):
        lines.show(share, message)
    assert err(capsys) == " 10% Fitting\n"
    clock.wait(5.1)
    lines.show(0.4, "Fitting: four")
    lines.show(0.5, "Writing")
    assert err(capsys) == " 40% Fitting: four\n 50% Writing\n"
    for _ in range(3600):  # an hour of one stage is no flood
        clock.wait(1.0)
        lines.show(0.6, "Writing: on")
    assert 10 < len(err(capsys).splitlines()) < 50


def test_quiet_is_quiet(clock, capsys, table):
    with shown(True) as tell:
        tell("Reading the table")
        PrototypeSurrogate(random_state=0).fit(*table)
        clock.wait(9.0)
        tell("Writing the report")
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_nothing_is_shown(clock, table, capsys):
    wc.explain(table[1], table[0])
    clock.wait(9.0)
    assert not clock.timers
    assert capsys.readouterr() == ("", "")


def test_a_notebook_has_lines(clock, monkeypatch, capsys):
    class Shell:
        kernel = object()

        def get_ipython(self):
            return self

    monkeypatch.setitem(sys.modules, "IPython", Shell())
    with waiting({"Fitting": 1.0}) as tell:
        tell("Fitting: first")
        clock.wait(2.1)
    assert err(capsys) == "  0% Fitting: first\n"


def test_other_threads_show_nothing(terminal):
    def work():
        with waiting({"Fitting": 1.0}) as tell:
            tell("Fitting")

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert terminal.made == ()


def test_explaining_labels_shows_the_fit(terminal, table):
    explained = wc.explain(table[1], table[0])
    checked(terminal, "Fitting a surrogate: 1 prototype a cluster", "Fitting a surrogate: its agreement")
    assert explained.fidelity is not None


def test_a_fit_that_fails_takes_its_bar_away(terminal, table, monkeypatch):
    monkeypatch.setattr(PrototypeSurrogate, "_keep", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wc.explain(table[1], table[0])
    assert [one.closed for one in terminal.made] == [True]
    assert not _progress.is_watched()


def test_models_that_need_no_fit_wait_for_nobody(terminal, table):
    wc.explain(KMeans(3, n_init=1, random_state=0).fit(table[0]), table[0])
    assert all(one.told == [] for one in terminal.made)


def test_pages_show_what_is_written(terminal, bent, tmp_path):
    explained = wc.explain(bent[1], bent[0])
    terminal.made = ()
    explained.to_html(tmp_path / "report.html")
    parts = ("reasons of clusters", "columns that suffice", "nearest changes", "the page")
    checked(terminal, "Writing the report", *(f"Writing the report: {part}" for part in parts))
    # The number of groups of a cluster is chosen within.
    assert all(message.startswith("Writing") for _, message in terminal.made[0].told)


def test_audits_show_what_is_measured(terminal, table):
    few = {"methods": ["squared"], "n_repeats": 2, "n_refits": 2}
    wc.audit(KMeans(3, n_init=1, random_state=0).fit(table[0]), table[0], **few)
    checked(terminal, "Scoring explanations", "Fitting 2 times again: reseed", "Looking for structure: other")
    terminal.made = ()
    wc.audit(table[1], table[0], **few)
    checked(terminal, "Fitting a surrogate", "Scoring explanations", "Looking for structure")
    terminal.made = ()
    told = []
    wc.audit(table[1], table[0], **few, progress=told.append)
    assert terminal.made == ()
    assert told[0].startswith("Fitting a surrogate")
    assert "Scoring explanations: columns in random order" in told


def test_searches_and_sampled_methods_show_how_far_they_are(terminal, table):
    choose_k(table[0], k_max=3, random_state=0)
    checked(
        terminal, "Choosing k: 2 to 3 clusters", "Choosing k: 2 to 3 clusters, without any (table 2 of 2)"
    )
    terminal.made = ()
    model = KMeans(3, n_init=1, random_state=0).fit(table[0])
    wc.explain(model, table[0], method="data_aware")
    assert {message for _, message in terminal.made[0].told} == {"Explaining by data_aware"}
    terminal.made = ()
    wc.metrics.stability(model, table[0], n_repeats=3)
    checked(terminal, "Fitting 3 times again")
    terminal.made = ()
    explained = wc.explain(model, table[0])
    explained.subpatterns(model.labels_[0])
    checked(terminal, "Choosing k")


def test_shap_shows_how_far_it_is(terminal, table):
    pytest.importorskip("shap")
    wc.explain(KMeans(3, n_init=1, random_state=0).fit(table[0]), table[0][:6], method="shap", n_background=5)
    checked(terminal, "Explaining by shap")


def test_the_command_line_is_told_of_parts(bent, clock):
    seen = Seen()
    with watched(Watch(STAGES, seen, 0.0)):
        stage("Fitting a surrogate to the given labels")
        explained = wc.explain(bent[1], bent[0])
        stage("Writing the report")
        wc.report.render(explained)
    messages = [message for _, message in seen.told]
    assert "Fitting a surrogate: 1 prototype a cluster" in messages
    assert "Writing the report: nearest changes" in messages
    assert not any(message.startswith("Choosing k") for message in messages)


@pytest.mark.parametrize("question", [{"cluster": "99"}, {"cluster": 0, "against": 99}, {"against": 1}])
def test_what_is_asked_of_labels_is_checked_before_the_fit(table, monkeypatch, question):
    monkeypatch.setattr(PrototypeSurrogate, "fit", lambda *_: pytest.fail("was fitted"))
    with pytest.raises(ValueError, match=r"99.* is no cluster of this model|say which cluster"):
        wc.explain(table[1], table[0], **question)


def whatever_was_written_to(terminal):
    """All of it, once its other end is closed: one call may give only the first part."""
    parts = []
    with suppress(OSError):  # Linux tells the end of a terminal as an error
        while parts[-1:] != [b""]:
            parts.append(os.read(terminal, 1 << 16))
    return b"".join(parts).decode()


def test_a_real_bar_comes_on_a_terminal_and_goes(monkeypatch):
    pty = pytest.importorskip("pty")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_progress, "PATIENCE", 0.01)
    own, other = pty.openpty()
    with os.fdopen(other, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        begun = threading.Event()
        first_drawn = Bar.show
        monkeypatch.setattr(Bar, "show", lambda self, *told: (first_drawn(self, *told), begun.set())[0])
        with waiting({"Fitting": 1.0}) as tell:
            tell("Fitting a [surrogate]")
            assert begun.wait(30)
            step(1, 2)
    drawn = whatever_was_written_to(own)
    os.close(own)
    assert "Fitting a [surrogate]" in drawn
    assert re.search(r"\b50%", drawn)
    assert drawn.rstrip().endswith("\x1b[2K")  # its line is empty at the end
    assert not any(
        one.name.startswith("Thread") and isinstance(one, threading.Timer) for one in threading.enumerate()
    )


def test_what_is_told_goes_nowhere_where_nobody_waits(monkeypatch):
    for name in ("begin", "step", "done"):
        monkeypatch.setattr(Stages, name, lambda *_: pytest.fail("nobody waits"))
    stage("Fitting")
    step(1, 2)
    done(0.5)
    assert not is_watched()


@pytest.mark.parametrize("stream", [SimpleNamespace(write=lambda text: None, flush=lambda: None), None])
def test_standard_error_may_be_anything(stream, monkeypatch, table):
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting({"Fitting": 1.0}) as tell:
        tell("Fitting")
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    with waiting({"Fitting": 1.0}) as tell:
        tell("Fitting")


def test_a_terminal_that_is_gone_ends_no_job(clock, monkeypatch):
    class Gone(io.StringIO):
        def isatty(self):
            return True

        def write(self, text):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(sys, "stderr", Gone())
    with waiting({"Fitting": 1.0}) as tell:
        tell("Fitting")
        clock.wait(3.0)
        tell("Fitting: more")
    monkeypatch.setenv("TERM", "dumb")
    with waiting({"Fitting": 1.0}) as tell:
        assert not is_watched()
