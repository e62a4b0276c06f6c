"""systemd: a unit a server, started anew when it falls."""

from __future__ import annotations

from rigright.export.commands import command_of, files_beside, one_node
from rigright.export.launch import Launch
from rigright.export.text import comments, flat, unit_word

NAME = "systemd"


def export(launch: Launch) -> dict[str, str]:
    """The units, and the files their program reads."""
    one_node(launch, NAME)
    servers = launch.servers
    names = [launch.name if len(servers) == 1 else f"{launch.name}-{place}" for place in range(len(servers))]
    units = {f"{name}.service": _unit(one) for name, one in zip(names, servers, strict=True)}
    return units | files_beside(launch)


def _unit(launch: Launch) -> str:
    words = " \\\n  ".join(unit_word(word) for word in flat(command_of(launch)))
    environment = "".join(
        f"Environment={unit_word(f'{name}={value}')}\n" for name, value in launch.environment.items()
    )
    return (
        f"{comments(launch.head)}[Unit]\nDescription={launch.program.label} {launch.name}\n"
        "Wants=network-online.target\nAfter=network-online.target\n\n"
        f"[Service]\nType=exec\n{environment}ExecStart={words}\n"
        "Restart=on-failure\nRestartSec=10\nTimeoutStopSec=60\nLimitMEMLOCK=infinity\nLimitNOFILE=65536\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
