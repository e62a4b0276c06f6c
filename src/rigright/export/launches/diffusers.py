"""Diffusers: a script that makes images as planned, and times them."""

from __future__ import annotations

from rigright.export.commands import one_node
from rigright.export.launch import Launch
from rigright.export.text import comments

NAME = "diffusers"
_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_BACKENDS = {
    "int8": '"bitsandbytes_8bit", {"load_in_8bit": True}',
    "nf4": '"bitsandbytes_4bit", {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}',
}
_DEVICES = {"Intel": "xpu", "Apple": "mps"}
_QUANTISED = """
parts = {{"transformer", "unet", "text_encoder", "text_encoder_2", "text_encoder_3"}}
backend, options = {backend}
quantised = PipelineQuantizationConfig(
    quant_backend=backend,
    quant_kwargs=options,
    components_to_quantize=sorted(parts & set(DiffusionPipeline.load_config(MODEL))),
)
"""
_SCRIPT = """import sys
import time

import torch
from diffusers import DiffusionPipeline{imported}

MODEL, BATCH, STEPS = {model!r}, {batch}, {steps}
SIZE = {size}
{quantised}
pipe = DiffusionPipeline.from_pretrained(MODEL, torch_dtype=torch.{dtype}{option})
{placed}
{compiled}
prompt = " ".join(sys.argv[1:]) or "a lighthouse above a stormy sea, oil painting"
for run in ("first", "second"):
    start = time.perf_counter()
    made = pipe([prompt] * BATCH, num_inference_steps=STEPS, **SIZE)
    print(f"{{run}}: {{time.perf_counter() - start:.1f}} s for {{BATCH}}", file=sys.stderr)
{saved}
"""
_IMAGES = """for place, image in enumerate(made.images):
    image.save(f"image-{place}.png")"""
_VIDEOS = """for place, frames in enumerate(made.frames):
    export_to_video(frames, f"video-{place}.mp4", fps=FPS)"""
_VAE = """if hasattr(pipe.vae, "enable_tiling"):
    pipe.vae.enable_tiling()"""
_COMPILED = """
denoiser = getattr(pipe, "transformer", None) or pipe.unet
denoiser.compile()
"""


def export(launch: Launch) -> dict[str, str]:
    """The script."""
    one_node(launch, NAME)
    passed = launch.passing
    backend = _BACKENDS.get(passed.weights)
    device = _DEVICES.get(launch.vendor, "cuda" if launch.vendor else "cpu")
    placed = f"pipe.enable_model_cpu_offload(device={device!r})" if passed.waits else f"pipe.to({device!r})"
    size = (
        {}
        if passed.picture is None
        else {"height": passed.picture.height_px, "width": passed.picture.width_px}
    )
    if passed.frames is not None:
        size |= {"num_frames": passed.frames}
        placed += f"\n{_VAE}"
    text = _SCRIPT.format(
        imported=", PipelineQuantizationConfig" if backend else "",
        model=launch.model,
        batch=passed.batch,
        size=size,
        steps=passed.steps,
        quantised=_QUANTISED.format(backend=backend) if backend else "",
        dtype=_DTYPES[passed.dtype],
        option=", quantization_config=quantised" if backend else "",
        placed=placed,
        compiled=_COMPILED if passed.compiled else "",
        saved=_IMAGES if passed.frames is None else _VIDEOS.replace("FPS", f"{passed.fps}"),
    )
    if passed.frames is not None:
        text = text.replace("\n\nMODEL", "\nfrom diffusers.utils import export_to_video\n\nMODEL", 1)
    needs = [
        *(("bitsandbytes",) if backend else ()),
        *(("imageio", "imageio-ffmpeg") if passed.frames else ()),
    ]
    more = (f"and: python3 -m pip install {' '.join(needs)}",) if needs else ()
    return {"generate.py": comments((*launch.head, *more)) + text}
