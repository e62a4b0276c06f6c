"""Batching policies, one file each, named as on the command line, with `MANNER` and `pick(queue, room)`.

`pick` chooses the sequences of the next step and their tokens; `MANNER` says how steps are composed.
"""
