"""Bundles of work that is no text generation: embeddings, images, speech."""

import os
import subprocess
import sys

import pytest

from launch_plans import argv_of
from rigright.base.errors import AskError
from rigright.facts.launching import flags, programs
from rigright.verbs.export import launch_files, planned_for

FAKE = {
    "torch.py": "bfloat16, float16, float32 = 'bfloat16', 'float16', 'float32'\n",
    "diffusers.py": """
class PipelineQuantizationConfig:
    def __init__(self, **given):
        print("quantised", given["quant_backend"], given["components_to_quantize"])
class _Image:
    def save(self, name):
        print("saved", name)
class _Answer:
    def __init__(self, count):
        self.images = [_Image()] * count
class _Denoiser:
    def compile(self):
        print("compiled")
class DiffusionPipeline:
    transformer = _Denoiser()
    @classmethod
    def load_config(cls, name):
        return {"transformer": 1, "text_encoder_2": 1, "vae": 1}
    @classmethod
    def from_pretrained(cls, name, **given):
        print("loads", name, given["torch_dtype"])
        return cls()
    def to(self, device):
        print("on", device)
    def __call__(self, prompts, height, width, num_inference_steps):
        print("draws", len(prompts), height, width, num_inference_steps)
        return _Answer(len(prompts))
""",
}


def test_images_are_made_by_a_script_that_runs_as_planned(tmp_path):
    data = planned_for("flux.1-dev", "diffusers", fields={"on": "rtx 4090", "steps": "20"})
    work = data["plans"][0]["work"]
    files = launch_files("diffusers", data)
    for name, text in {**FAKE, **files}.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "generate.py", "a", "cat"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert "loads black-forest-labs/FLUX.1-dev bfloat16" in lines
    assert f"draws {work['batch']} 1024 1024 20" in lines
    assert ("compiled" in lines) == work["compiled"]
    quantised = [line for line in lines if line.startswith("quantised")]
    assert bool(quantised) == (work["weights"] in {"int8", "nf4"})
    assert all("vae" not in line and "transformer" in line for line in quantised)
    assert lines[-1] == f"saved image-{work['batch'] - 1}.png"
    assert "planned:" in files["generate.py"]


def test_embeddings_are_served_by_flags_that_the_server_has():
    data = planned_for("bge-m3", "tei", fields={"on": "l4", "prompt": "256"})
    files = launch_files("tei", data)
    words = argv_of(files["serve.sh"])
    table = flags("tei")
    given = {word: words[place + 1 : place + 2] for place, word in enumerate(words) if word.startswith("--")}
    assert set(given) <= set(table)
    assert given["--model-id"] == ["BAAI/bge-m3"]
    assert given["--dtype"] == ["float16"]
    assert "--random-input-len 256" in files["bench.sh"].replace("\\\n  ", "")


def test_speech_is_sent_as_recordings():
    packed = launch_files("compose", planned_for("whisper-large-v3", "compose", fields={"on": "l4"}))
    assert "bench.sh" in packed
    files = launch_files("vllm", planned_for("whisper-large-v3", "vllm", fields={"on": "l4"}))
    words = argv_of(files["bench.sh"])
    assert words[words.index("--backend") + 1] == "openai-audio"
    assert words[words.index("--endpoint") + 1] == "/v1/audio/transcriptions"
    assert "guidellm.sh" not in files


@pytest.mark.parametrize(
    ("target", "model", "instead"),
    [
        ("vllm", "bge-m3", "tei"),
        ("llama.cpp", "flux.1-dev", "diffusers"),
        ("tei", "flux.1-dev", "diffusers"),
        ("diffusers", "bge-m3", "tei"),
        ("tei", "qwen3-8b", "llama.cpp"),
    ],
)
def test_a_target_of_other_work_is_refused_with_the_one_that_does_it(target, model, instead):
    with pytest.raises(AskError) as refused:
        launch_files(target, planned_for(model, target, fields={"on": "rtx 4090"}))
    assert instead in str(refused.value.hint)


def test_work_that_nothing_is_exported_for_is_refused():
    assert not any("vision" in program.works for program in programs().values())
    with pytest.raises(AskError):
        launch_files("diffusers", planned_for("resnet-50", "diffusers", fields={"on": "rtx 4090"}))
