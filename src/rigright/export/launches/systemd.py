"""systemd: a unit a server, started anew when it falls."""

from __future__ import annotations

from rigright.export.clients import balancer
from rigright.export.commands import command_of, files_beside, made_first, one_node, serves
from rigright.export.launch import Launch
from rigright.export.text import comments, flat, unit_word

NAME = "systemd"


def export(launch: Launch) -> dict[str, str]:
    """The units, and the files their program reads."""
    serves(launch, NAME)
    one_node(launch, NAME)
    servers = launch.servers
    several = len(servers) > 1
    names = [f"{launch.name}-{place}" if several else launch.name for place in range(len(servers))]
    units = {f"{name}.service": _unit(item, names) for name, item in zip(names, servers, strict=True)}
    dealt = (
        {"nginx.conf": balancer(launch, [f"127.0.0.1:{server.port}" for server in servers])}
        if several
        else {}
    )
    return units | dealt | files_beside(launch)


def _unit(launch: Launch, names: list[str]) -> str:
    folder = f"/opt/{launch.name}"
    environment = {
        "PATH": f"{folder}/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": f"/var/lib/{launch.name}",
        **launch.environment,
    }
    texts = (
        *launch.head,
        launch.answers,
        f"files and weights with a relative path lie in {folder}, the program in {folder}/venv or on PATH",
        f"HF_TOKEN=... for a model behind a licence: in {folder}/env, which root alone reads",
        "cp *.service /etc/systemd/system/ && systemctl daemon-reload",
        f"systemctl enable --now {' '.join(names)}",
        *made_first(launch),
    )
    words = " \\\n  ".join(
        unit_word(word).replace("$", "$$") for word in ("/usr/bin/env", *flat(command_of(launch)))
    )
    variables = "".join(
        f"Environment={unit_word(f'{name}={value}')}\n" for name, value in environment.items()
    )
    groups = "SupplementaryGroups=video render\n" if launch.vendor == "AMD" else ""
    return (
        f"{comments(texts)}[Unit]\nDescription={launch.program.label} {launch.name}\n"
        "Wants=network-online.target\nAfter=network-online.target\n\n"
        f"[Service]\nType=exec\nWorkingDirectory=-{folder}\n{variables}EnvironmentFile=-{folder}/env\nExecStart={words}\n"
        f"Restart=on-failure\nRestartSec=10\nTimeoutStopSec=60\nLimitMEMLOCK=infinity\nLimitNOFILE=65536\n"
        # a user of its own, that may write nothing but its own folder
        f"DynamicUser=yes\nStateDirectory={launch.name}\n{groups}\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
