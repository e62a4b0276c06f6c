"""Batching policies: one file each, named as it is asked for, with `MANNER` and `pick(queue, room)`.

`pick` says who is worked on in the next pass and with how many tokens; `MANNER` says how passes are made up.
"""
