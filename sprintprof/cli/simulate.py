"""`sprintprof simulate`: the same answers as predict, from events; replay of traces."""

from __future__ import annotations

from typing import Any

import typer

from sprintprof.cli import model_options as opt
from sprintprof.cli.output import JSON_OPTION, emit_json, note


def register(app: typer.Typer) -> None:
    """Add the verb to the application."""
    app.command("simulate")(opt.takes(*opt.SIZE, *opt.STRATEGY, *opt.WORKLOAD, *opt.CYCLES)(simulate))


def simulate(
    shared: dict[str, Any],
    profile: str | None = opt.PROFILE,
    updates: int = typer.Option(200, "--updates", help="Updates in each replica."),
    replicas: int = typer.Option(64, "--replicas", help="Restarts with fresh phases."),
    seed: int = typer.Option(0, "--seed", help="The same seed gives the same run."),
    gpu_samples: str | None = typer.Option(
        None, "--gpu-samples", metavar="RESULTS.h5:BENCHMARK", help="Draw GPU cycles from measured samples, scaled."
    ),
    stragglers: str | None = typer.Option(
        None, "--stragglers", metavar="TRACE.csv", help="worker,begin_s,end_s,factor: who was slow when."
    ),
    timeline: str | None = typer.Option(
        None, "--timeline", metavar="FILE", help="Write the first replica as a Chrome trace."
    ),
    replay: str | None = typer.Option(
        None, "--replay", metavar="TRACE.csv", help="worker,event: staleness of exactly these pulls and pushes."
    ),
    pull_after_push: bool = typer.Option(False, "--pull-after-push", help="--replay: each push is followed by a pull."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Simulate distributed training event by event, or replay a trace."""
    if replay is not None:
        _replay(replay, shared, pull_after_push, json_to)
        return
    from dataclasses import replace

    from sprintprof.cli.predict import print_prediction
    from sprintprof.model.inputs import resolve
    from sprintprof.model.isgd import parse_isgd
    from sprintprof.model.prediction import report
    from sprintprof.model.simulate.run import Plan
    from sprintprof.model.simulate.stragglers import read_stragglers
    from sprintprof.model.simulate.timeline import chrome_trace
    from sprintprof.model.strategies.base import outcome_of

    strategy = opt.strategy_of(shared)
    isgd = parse_isgd(shared["isgd"]) if shared["isgd"] is not None else None
    slow = read_stragglers(stragglers) if stragglers is not None else None
    plan = Plan(updates, replicas, seed, slow, timeline is not None)
    resolved = resolve(opt.request_of(profile, shared))
    setting = resolved.setting
    if gpu_samples is not None:
        setting = replace(setting, gpu_cycle=_measured(gpu_samples, setting.gpu_cycle.mean_s))
    run = strategy.simulate(setting, plan)
    outcome = outcome_of(run, setting)
    result = report(setting, strategy.name, outcome, resolved.terms, resolved.warnings, isgd)
    result |= {"gradients": run.gradients, "updates": run.updates, "replicas": replicas, "seed": seed}
    if timeline is not None:
        emit_json(chrome_trace(run.spans, setting.sub_batch), timeline)
    if json_to != "-":
        print_prediction(result)
    if json_to is not None:
        emit_json(result, json_to)


def _measured(text: str, mean_s: float) -> Any:
    """The measured distribution of a benchmark's samples, each point divided by its median, with the given mean."""
    import numpy as np

    from sprintprof.model.jitter import Samples
    from sprintprof.records.errors import InputError
    from sprintprof.store import load_results

    path, _, benchmark = text.rpartition(":")
    found = [
        m.samples.time_s / m.median_s
        for m in load_results(path or benchmark).measurements
        if m.status == "ok" and len(m.samples) and (not path or m.point.benchmark == benchmark)
    ]
    if not found:
        raise InputError(text, "has no samples", "name RESULTS.h5:BENCHMARK with a benchmark that was measured")
    shape = np.concatenate(found)
    return Samples(shape / shape.mean() * mean_s)


def _replay(path: str, shared: dict[str, Any], pull_after_push: bool, json_to: str | None) -> None:
    import numpy as np

    from sprintprof.cli.output import stdout_console
    from sprintprof.model.discrete import Discrete
    from sprintprof.model.setting import check_count
    from sprintprof.model.simulate.replay import read_trace
    from sprintprof.model.simulate.replay import replay as replayed

    gradients = 1
    if shared["groups"] is not None:
        check_count("--groups", shared["groups"])
        workers = len({e.worker for e in read_trace(path) if e.event == "push"})
        gradients = max(1, workers // shared["groups"])
    found = replayed(read_trace(path), gradients, pull_after_push)
    whole = Discrete.counted(np.array([a.staleness for a in found]))
    result = {
        "gradients": [{"worker": a.worker, "staleness": a.staleness, "version": a.version} for a in found],
        "staleness": whole.report(),
        "warnings": [],
    }
    if json_to is not None:
        emit_json(result, json_to)
    if json_to != "-":
        console = stdout_console()
        console.print(" ".join(str(a.staleness) for a in found), soft_wrap=True)
        note(f"{len(found)} gradients, mean staleness {whole.mean:.4g}")
