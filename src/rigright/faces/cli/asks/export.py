"""`export TARGET`: files for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer, noted

STAGE = "machine"
SUMMARY = say("launch files for a plan: vllm, sglang, llama.cpp, deepspeed ...; or monitoring: prometheus")


def answer(options: argparse.Namespace) -> Answer:
    """Export."""
    from rigright.report.pages.export import Exported, page, plain, text
    from rigright.verbs.export import PLAN, by_plugin, is_launched, one_plan, target_meant, write

    options.target = target_meant(options.target)
    if options.check is not None:
        return _checked(options)
    data = _plan(options) if is_launched(options.target) else None
    files = _watched(options) if data is None else _launched(options, data)
    if options.out is None:
        return Answer(
            page=lambda: page((), files),
            plain=lambda language: plain(Exported(written=(), files=files), language),
            text=lambda: text(files),
        )
    if data is not None and Path(options.plan_file or "") != Path(options.out, PLAN):
        files = {**files, PLAN: one_plan(data, number=options.number, checkpoint=options.checkpoint)}
    written = write(files, options.out)
    answered = Answer(
        page=lambda: page(written, files),
        plain=lambda language: plain(Exported(written=written, files=files), language),
    )
    return noted(answered, "written_by", note=lambda: by_plugin(options.target))


def _checked(options: argparse.Namespace) -> Answer:
    """A server that runs, flag by flag."""
    from rigright.report.pages.export import FlagChecks, held_page, held_plain
    from rigright.verbs.export import is_launched
    from rigright.verbs.launch import launch_of
    from rigright.verbs.launch_check import compare_flags, running_words

    target = options.target if is_launched(options.target) else None
    launch = launch_of(_plan(options), target, number=options.number, checkpoint=options.checkpoint)
    rows = compare_flags(launch, running_words(options.check))
    return Answer(
        page=lambda: held_page(rows),
        plain=lambda language: held_plain(FlagChecks(flags=rows), language),
        exit_code=0 if all(row.kept for row in rows) else 1,
    )


def _launched(options: argparse.Namespace, data: dict[str, Any]) -> dict[str, str]:
    """The files that start a plan."""
    from rigright.verbs.export import launch_files

    return launch_files(
        options.target,
        data,
        number=options.number,
        checkpoint=options.checkpoint,
        script=options.script,
    )


def _plan(options: argparse.Namespace) -> dict[str, Any]:
    """The plan of a file, or of a model."""
    from rigright.faces.cli.options import typed_options
    from rigright.verbs.export import planned_for
    from rigright.verbs.launch import read_plan

    fields = typed_options(options, "plan")
    if (options.plan_file is None) == (options.model is None):
        raise AskError(
            say("give either a model or --from plan.json"),
            hint=say("rigright export {target} --from plan.json", target=options.target),
        )
    if options.plan_file is not None and fields:
        raise AskError(
            say("--from already has a plan: --{option} would change it", option=next(iter(fields)))
        )
    if options.plan_file is not None:
        return read_plan(options.plan_file)
    return planned_for(options.model, options.target, fields=fields)


def _watched(options: argparse.Namespace) -> dict[str, str]:
    """The files of those who watch; a plan is nothing to them."""
    from rigright.verbs.export import export

    if options.plan_file is not None or options.model is not None:
        raise AskError(
            say("{target} takes no plan: it watches machines", target=options.target),
            hint=say("rigright export {target} --watched node1:9477", target=options.target),
        )
    return export(
        options.target,
        watched=tuple(options.watched),
        alertmanagers=tuple(options.alertmanager),
        token_file=options.token_file,
        every_s=options.every,
        language=options.language,
    )
