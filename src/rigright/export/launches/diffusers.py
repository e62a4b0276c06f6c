"""Diffusers: a script that makes images as planned, and times them."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.export.commands import one_node
from rigright.export.launch import TORCH_TYPES, Launch
from rigright.export.text import comments, template

NAME = "diffusers"
_BACKENDS = {
    "int8": '"bitsandbytes_8bit", {"load_in_8bit": True}',
    "nf4": '"bitsandbytes_4bit", {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}',
}
_QUANTISED = """
parts = {{"transformer", "transformer_2", "unet", "text_encoder", "text_encoder_2", "text_encoder_3"}}
backend, options = {backend}
quantised = PipelineQuantizationConfig(
    quant_backend=backend,
    quant_kwargs=options,
    components_to_quantize=sorted(parts & set(DiffusionPipeline.load_config(MODEL))),
)
"""
_TEXT = 'prompt = " ".join(sys.argv[1:]) or "a lighthouse above a stormy sea, oil painting"'
_GIVEN = """if len(sys.argv) < 2:
    sys.exit("usage: python3 generate.py IMAGE [PROMPT]")
picture = load_image(sys.argv[1])
prompt = " ".join(sys.argv[2:]) or "the same place at night\""""
_IMAGES = """for place, image in enumerate(made.images):
    image.save(f"image-{place}.png")"""
_VIDEOS = """for place, frames in enumerate(made.frames):
    export_to_video(frames, f"video-{place}.mp4", fps=FPS)"""
_VAE = """if hasattr(pipe.vae, "enable_tiling"):
    pipe.vae.enable_tiling()"""
_COMPILED = """
for part in ("transformer", "transformer_2", "unet"):
    if getattr(pipe, part, None) is not None:
        getattr(pipe, part).compile()
"""


def export(launch: Launch) -> dict[str, str]:
    """The script."""
    one_node(launch, NAME)
    passed = launch.passing
    backend = _BACKENDS.get(passed.weights)
    device = launch.device
    placed = f"pipe.enable_model_cpu_offload(device={device!r})" if passed.waits else f"pipe.to({device!r})"
    size: dict[str, int] = {}
    picture = passed.picture
    if picture is not None:
        size |= {"height": picture.height_px, "width": picture.width_px}
    makes_videos, starts = passed.frames is not None, passed.net.start
    if makes_videos:
        size |= {"num_frames": passed.frames or 1}
        placed += f"\n{_VAE}"
    utilities = ", ".join((*(("export_to_video",) * makes_videos), *(("load_image",) * starts)))
    text = template("paint").format(
        imported=", PipelineQuantizationConfig" if backend else "",
        utilities=f"from diffusers.utils import {utilities}\n" if utilities else "",
        model=_repository(launch),
        batch=passed.batch,
        size=size,
        steps=passed.steps,
        quantised=_QUANTISED.format(backend=backend) if backend else "",
        dtype=TORCH_TYPES[passed.dtype],
        option=", quantization_config=quantised" if backend else "",
        placed=placed,
        compiled=_COMPILED if passed.compiled else "",
        asked=_GIVEN if starts else _TEXT,
        prompts="[picture] * BATCH, [prompt] * BATCH" if starts else "[prompt] * BATCH",
        saved=_VIDEOS.replace("FPS", f"{passed.net.fps}") if makes_videos else _IMAGES,
    )
    needs = (
        *(("bitsandbytes",) if backend else ()),
        *(("imageio", "imageio-ffmpeg") if makes_videos else ()),
    )
    more = (f"and: python3 -m pip install {' '.join(needs)}",) if needs else ()
    return {"generate.py": comments((*launch.head, *more)) + text}


def _repository(launch: Launch) -> str:
    """Where the whole pipeline is, as Diffusers loads it."""
    hub = launch.passing.net.hub
    if hub == "-":
        raise AskError(
            say("{model} is no whole pipeline that Diffusers loads", model=launch.model),
            hint=say("give a folder with a model_index.json"),
        )
    return launch.model + hub[1:] if hub.startswith("+") else hub or launch.model
