"""./rig on machines of many kinds; a small script plays Python and pip, but where a test says real."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rig is a POSIX shell script")

ROOT = Path(__file__).parent.parent
SHELLS = {
    "dash": [],
    "bash": ["--posix"],
    "busybox": ["sh"],
    "zsh": ["--emulate", "sh"],
    "ksh": [],
}
FAKE = r"""#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
echo "$(basename "$0") $*" | head -n 1 >>"$RIG_TEST_LOG"
case "$1 $2" in
    "-c "*) [ -n "{version}" ] && echo "{version} {able} $here/$(basename "$0")" ;;
    "-m venv")
        mkdir -p "$3/bin" "$3/lib/python{version}/site-packages"
        cp "$0" "$3/bin/python"
        sleep "${RIG_TEST_SLOW:-0}" ;;
    "-m pip")
        echo "${RIG_TEST_PIP:-installed}"
        [ -z "${RIG_TEST_PIP:-}" ] ;;
    "-P -S") shift 4; echo "rigright <$*>" ;;
esac
"""


class Machine:
    """A checkout, a PATH with chosen Pythons, and a log of what they were asked."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "a folder with spaces"
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.home.mkdir()
        self.bin.mkdir()
        for tool in ("cat", "sh", "readlink", "rm", "mv", "mkdir", "grep", "tail", "head", "chmod", "sleep"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        for tool in ("cp", "dirname", "basename", "ls"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        shutil.copy(ROOT / "rig", self.home)
        (self.home / "constraints.txt").write_text("numpy==1\n")
        self.log.touch()

    @property
    def rig(self):
        return self.home / "rig"

    @property
    def venv(self):
        return self.home / ".venv"

    def python(self, name="python3", version="3.12", able="able"):
        path = self.bin / name
        path.write_text(FAKE.replace("{version}", version).replace("{able}", able))
        path.chmod(0o755)
        return path

    def environment(self, **more):
        return {"PATH": str(self.bin), "RIG_TEST_LOG": str(self.log), "LANG": "C", **more}

    def run(self, *arguments, command=None, cwd=None, user=None, **environment):
        return subprocess.run(
            [*(command or [str(self.rig)]), *arguments],
            env=self.environment(**environment),
            cwd=cwd or self.folder,
            user=user,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def asked(self, what):
        return sum(what in line for line in self.log.read_text().splitlines())


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def refused(done, code, *words):
    """One sentence, the code, and nothing else."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (sentence,) = [line for line in done.stderr.splitlines() if "once" not in line and "首次" not in line]
    assert sentence.startswith("rig: ")
    assert all(word in sentence for word in words), sentence


def test_first_use_sets_up_and_goes_on_and_later_uses_just_go_on(machine):
    machine.python()
    first, second = machine.run("explain", "a model"), machine.run("fit")
    assert (first.returncode, first.stdout) == (0, "rigright <explain a model>\n")
    assert "setting up" in first.stderr
    assert (second.returncode, second.stdout, second.stderr) == (0, "rigright <fit>\n", "")
    assert machine.asked("-m venv") == machine.asked("-m pip") == 1
    assert not (machine.home / ".venv.turn").exists()


def test_later_uses_run_one_python_only(machine):
    machine.python()
    machine.run()
    machine.log.write_text("")
    machine.run("fit")
    assert machine.log.read_text().splitlines() == ["python -P -S -c try:"]


def test_what_was_asked_arrives_as_it_was_written(machine):
    machine.python()
    machine.run()
    assert machine.run("--on", "8x  h100", "$HOME", "*", "").stdout == "rigright <--on 8x  h100 $HOME * >\n"


def test_the_exit_code_of_rigright_comes_through(machine):
    python = machine.python()
    python.write_text(python.read_text().replace("shift 4", "exit 7"))
    assert machine.run().returncode == 7


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_any_posix_shell_does(machine, shell):
    machine.python()
    name = [shutil.which(shell), *SHELLS[shell], str(machine.rig)]
    for _ in range(2):
        assert machine.run("fit", command=name).stdout == "rigright <fit>\n"
    machine.rig.with_name("constraints.txt").write_text("numpy==2\n")
    assert machine.run("fit", command=name).stdout == "rigright <fit>\n"
    assert machine.asked("-m pip") == 2


def test_from_another_folder_and_through_a_chain_of_links(machine):
    machine.python()
    (machine.folder / "elsewhere").mkdir()
    (machine.folder / "elsewhere" / "one").symlink_to("../a folder with spaces/rig")
    (machine.folder / "two").symlink_to(machine.folder / "elsewhere" / "one")
    (machine.folder / "three").symlink_to("two")
    (machine.bin / "rig").symlink_to(machine.folder / "three")
    for command in ("three", "./three", str(machine.folder / "two"), "elsewhere/one"):
        done = machine.run("fit", command=["sh", command])
        assert done.stdout == "rigright <fit>\n", (command, done.stderr)
    assert machine.run("fit", command=["sh", "-c", "rig fit"]).stdout == "rigright <fit>\n"
    assert machine.run("fit", command=["sh", "rig"], cwd=machine.home).stdout == "rigright <fit>\n"
    assert machine.asked("-m venv") == 1


def test_the_page_and_the_agents_server_get_their_packages_once(machine):
    machine.python()
    for verb in ("web", "mcp"):
        (machine.home / f"constraints-{verb}.txt").write_text(f"{verb}-server==1\n")
    assert machine.run("fit", "web").returncode == 0
    assert machine.run("web", "--help").stdout == "rigright <web --help>\n"
    assert machine.asked("-m pip") == 1, "the lock alone"
    for _ in range(2):
        assert machine.run("--lang", "zh", "web").stdout == "rigright <--lang zh web>\n"
        assert machine.asked("-m pip") == 2
    told = machine.run("mcp", RIG_TEST_PIP="no network: Connection refused")
    assert told.stdout == "rigright <mcp>\n", "which says itself what is missing"
    assert "once" in told.stderr
    assert machine.run("mcp").stderr
    assert machine.run("mcp").stderr == ""
    assert machine.asked("-m pip") == 4


def test_rigright_hears_what_starts_it_again(machine):
    python = machine.python()
    python.write_text(python.read_text().replace("rigright <$*>", "$RIG_STARTED_AS"))
    (machine.bin / "rig").symlink_to(machine.rig)
    assert machine.run("fit", command=["./rig"], cwd=machine.home).stdout == "./rig\n"
    assert machine.run("fit", command=["sh", "rig"], cwd=machine.home).stdout == "./rig\n"
    assert machine.run("fit", command=[str(machine.rig)]).stdout == f"{machine.rig}\n"
    assert machine.run("fit", command=["sh", "-c", "rig fit"]).stdout == f"{machine.bin / 'rig'}\n"


def test_a_changed_lock_is_noticed_even_if_it_looks_older(machine):
    machine.python()
    machine.run()
    lock = machine.home / "constraints.txt"
    lock.write_text("numpy==2\n")
    os.utime(lock, (1, 1))
    assert machine.run().returncode == 0
    assert (machine.asked("-m venv"), machine.asked("-m pip")) == (1, 2)


def test_a_lock_that_was_only_touched_is_not_a_changed_one(machine):
    machine.python()
    machine.run()
    os.utime(machine.home / "constraints.txt")
    machine.run()
    assert machine.asked("-m pip") == 1


def cut_short(machine):
    (machine.venv / "rig.stamp").unlink()


def without_its_python(machine):
    (machine.venv / "bin" / "python").unlink()
    (machine.venv / "bin" / "python").symlink_to("/nowhere/python3.11")


def with_an_empty_python(machine):
    python = machine.venv / "bin" / "python"
    python.unlink()  # it may be a link: what it leads to is not ours to harm
    python.touch(mode=0o755)


def moved(machine):
    machine.home = machine.home.rename(machine.folder / "moved")


def a_file(machine):
    shutil.rmtree(machine.venv)
    machine.venv.write_text("not a folder")


def empty(machine):
    shutil.rmtree(machine.venv)
    machine.venv.mkdir()


@pytest.mark.parametrize("harm", [cut_short, without_its_python, with_an_empty_python, moved, a_file, empty])
def test_a_broken_venv_is_made_anew(machine, harm):
    machine.python()
    machine.run()
    harm(machine)
    for _ in range(2):
        assert machine.run("fit").stdout == "rigright <fit>\n"
    assert (machine.asked("-m venv"), machine.asked("-m pip")) == (2, 2)


def test_a_failed_install_is_tried_again_from_the_start(machine):
    machine.python()
    refused(machine.run(RIG_TEST_PIP="ERROR: odd things"), 5, "ERROR: odd things", "rig.log")
    assert machine.run("fit").stdout == "rigright <fit>\n"
    assert machine.asked("-m venv") == 2


def test_two_at_once_set_up_once(machine):
    machine.python()
    many = [
        subprocess.Popen(
            [str(machine.rig), "fit"],
            env=machine.environment(RIG_TEST_SLOW="1"),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    assert [one.communicate(timeout=60)[0] for one in many] == ["rigright <fit>\n"] * 4
    assert machine.asked("-m venv") == machine.asked("-m pip") == 1


def test_who_died_in_the_middle_is_not_waited_for(machine):
    machine.python()
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout
    turn = machine.home / ".venv.turn"
    turn.mkdir()
    (turn / "pid").write_text(gone)
    assert machine.run("fit").stdout == "rigright <fit>\n"
    assert not turn.exists()


def test_an_interrupted_setup_leaves_nothing_in_the_way(machine):
    machine.python()
    started = subprocess.Popen(
        [str(machine.rig)],
        env=machine.environment(RIG_TEST_SLOW="3"),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not machine.asked("-m venv"):
        time.sleep(0.02)
    os.killpg(started.pid, signal.SIGTERM)
    assert started.wait(timeout=30) != 0
    assert not (machine.home / ".venv.turn").exists()
    assert machine.run("fit").stdout == "rigright <fit>\n"


def compilations(machine):
    return machine.asked("-P -m rigright.base.compiled")


def test_modules_are_compiled_at_set_up(machine):
    machine.python()
    assert [machine.run("fit").returncode for _ in range(3)] == [0, 0, 0]
    assert compilations(machine) == 1


def test_modules_are_compiled_again_for_another_commit(machine):
    """A branch, a commit without one, and a ref that git has packed away."""
    machine.python()
    head, ref = machine.home / ".git" / "HEAD", machine.home / ".git" / "refs" / "heads" / "main"
    ref.parent.mkdir(parents=True)
    head.write_text("ref: refs/heads/main\n")
    for commit in ("a" * 40, "b" * 40):
        ref.write_text(f"{commit}\n")
        for _ in range(2):
            assert machine.run("fit").stdout == "rigright <fit>\n"
    assert compilations(machine) == 2
    head.write_text("c" * 40 + "\n")
    machine.run()
    assert compilations(machine) == 3
    head.write_text("ref: refs/heads/packed\n")
    done = [machine.run("fit") for _ in range(2)]
    assert [(one.stdout, one.stderr) for one in done] == [("rigright <fit>\n", "")] * 2
    assert compilations(machine) == 4
    assert (machine.asked("-m venv"), machine.asked("-m pip")) == (1, 1)


def test_a_venv_of_an_older_rig_is_compiled_once(machine):
    machine.python()
    machine.run()
    (machine.venv / "rig.compiled").unlink()
    for _ in range(2):
        assert machine.run("fit").stdout == "rigright <fit>\n"
    assert compilations(machine) == 2


def test_modules_that_cannot_be_compiled_stop_nothing(machine):
    python = machine.python()
    python.write_text(python.read_text().replace("esac\n", '    "-P -m") echo no; exit 1 ;;\nesac\n', 1))
    for _ in range(2):
        done = machine.run("fit")
        assert (done.returncode, done.stdout) == (0, "rigright <fit>\n")
    assert done.stderr == ""
    assert compilations(machine) == 1


CHINESE = {"LANG": "zh_CN.UTF-8"}


def test_no_python_at_all(machine):
    refused(machine.run(), 4, "no Python is here", "3.11", "RIG_PYTHON")
    refused(machine.run(**CHINESE), 4, "这里没有 Python", "3.11")
    assert not machine.venv.exists()


def test_an_old_python(machine):
    machine.python(version="3.9")
    refused(machine.run(), 4, "Python 3.11 or newer is needed", "3.9")
    refused(machine.run(**CHINESE), 4, "需要 Python 3.11", "3.9")


def test_python_two_is_old_too(machine):
    machine.python("python", version="2.7")
    refused(machine.run(), 4, "2.7")


def test_an_old_python_beside_a_newer_one(machine):
    machine.python("python3", version="3.8")
    machine.python("python3.13", version="3.13")
    assert machine.run("fit").stdout == "rigright <fit>\n"
    assert machine.asked("python3.13 -m venv") == 1


def test_a_python_that_only_pretends_is_passed_over(machine):
    machine.python("python3", version="").write_text("#!/bin/sh\nexit 127\n")
    machine.python("python", version="3.14")
    assert machine.run("fit").stdout == "rigright <fit>\n"


def test_a_python_without_venv(machine):
    machine.python(version="3.11", able="bare")
    refused(machine.run(), 4, "cannot make a venv", "apt install python3.11-venv")
    refused(machine.run(**CHINESE), 4, "不能创建 venv", "apt install python3.11-venv")
    machine.python("python3.12", version="3.12")
    assert machine.run("fit").stdout == "rigright <fit>\n"


def test_a_python_of_the_users_choice(machine):
    machine.python(version="3.12")
    mine = machine.python("my python", version="3.13")
    machine.run(RIG_PYTHON=str(mine))
    assert machine.asked("my python -m venv") == 1


def test_a_wrong_choice_is_told_and_not_silently_replaced(machine):
    machine.python(version="3.12")
    refused(machine.run(RIG_PYTHON="/no/python"), 4, "/no/python", "RIG_PYTHON")
    refused(machine.run(RIG_PYTHON="/no/python", **CHINESE), 4, "/no/python", "RIG_PYTHON")


NO_NETWORK = "ERROR: Could not find a version that satisfies the requirement numpy==1"


@pytest.mark.parametrize(
    ("said", "code", "english", "chinese"),
    [
        (NO_NETWORK, 4, "no network", "没有网络"),
        ("OSError: [Errno 28] No space left on device", 5, "disk is full", "磁盘已满"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES: hash does not match", 5, "not what", "校验值"),
        ("ERROR: Could not install: [Errno 13] Permission denied", 5, "cannot write", "无法写入"),
    ],
)
def test_what_pip_says_is_told_in_one_sentence(machine, said, code, english, chinese):
    machine.python()
    refused(machine.run(RIG_TEST_PIP=said), code, english)
    refused(machine.run(RIG_TEST_PIP=said, **CHINESE), code, chinese)


@pytest.fixture
def read_only(tmp_path_factory):
    """A checkout that this user, root or not, may not write in: (machine, user to run as)."""
    folder = tmp_path_factory.mktemp("read-only")
    machine = Machine(folder)
    for parent in (folder, *folder.parents):
        if parent.owner() == folder.owner() and parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    machine.log.chmod(0o666)
    machine.home.chmod(0o555)
    yield machine, ("nobody" if os.getuid() == 0 else None)
    machine.home.chmod(0o755)


def test_a_folder_that_cannot_be_written(read_only):
    machine, user = read_only
    machine.python()
    refused(machine.run(user=user), 5, "cannot write in", "a folder with spaces", "copy the folder")
    refused(machine.run(user=user, **CHINESE), 5, "无法写入")


def test_a_folder_set_up_before_runs_where_nothing_can_be_written(read_only):
    machine, user = read_only
    machine.home.chmod(0o755)
    machine.python()
    machine.run()
    (machine.venv / "rig.compiled").unlink()  # where one may not write, it is not tried
    for folder in (machine.venv, machine.home):
        folder.chmod(0o555)
    done = machine.run("fit", user=user)
    assert (done.stdout, done.stderr) == ("rigright <fit>\n", "")
    assert compilations(machine) == 1
    machine.venv.chmod(0o755)


def real_environment(**more):
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "RIG_PYTHON": sys.executable}
    return {"PATH": "/usr/bin:/bin", **kept, **pip, **more}


@pytest.fixture
def checkout(tmp_path):
    """The real package, locked to one tiny package that lies in a folder beside it."""
    home = tmp_path / "check out"
    home.mkdir()
    shutil.copy(ROOT / "rig", home)
    (home / "src").symlink_to(ROOT / "src")
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("tiny.py", "")
        file.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr(
            "tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr("tiny-1.0.dist-info/RECORD", "")
    import hashlib

    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (home / "constraints.txt").write_text(f"tiny==1.0 --hash=sha256:{digest}\n")
    return home


@pytest.mark.live
def test_with_a_real_python_and_a_real_pip(checkout, tmp_path):
    """Set up once, by a folder whose own modules would slip in if they could, then at once from anywhere."""
    environment = real_environment(PIP_FIND_LINKS=str(tmp_path))
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("rigright", "argparse", "numpy"):
        (trap / f"{name}.py").write_text("raise SystemExit(99)")
    for folder in (trap, trap, "/"):
        done = subprocess.run(
            [checkout / "rig", "--version"],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("rigright ")
    command = subprocess.run(
        [checkout / ".venv" / "bin" / "rigright", "--version"],
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    assert command.stdout == done.stdout
    inside = subprocess.run(
        [checkout / ".venv" / "bin" / "python", "-c", "import tiny, rigright; print(rigright.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(inside.stdout.strip()).resolve() == (ROOT / "src" / "rigright" / "__init__.py").resolve()


@pytest.mark.live
def test_a_real_pip_without_network(checkout):
    environment = real_environment(
        PIP_NO_INDEX="0", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0"
    )
    done = subprocess.run([checkout / "rig"], env=environment, capture_output=True, text=True, check=False)
    refused(done, 4, "no network")
