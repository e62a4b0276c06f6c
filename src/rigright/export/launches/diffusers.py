"""Diffusers: a script that makes images as planned, and times them."""

from __future__ import annotations

from rigright.export.commands import one_node
from rigright.export.launch import TORCH_TYPES, Launch
from rigright.export.text import comments, template

NAME = "diffusers"
_BACKENDS = {
    "int8": '"bitsandbytes_8bit", {"load_in_8bit": True}',
    "nf4": '"bitsandbytes_4bit", {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}',
}
_QUANTISED = """
parts = {{"transformer", "unet", "text_encoder", "text_encoder_2", "text_encoder_3"}}
backend, options = {backend}
quantised = PipelineQuantizationConfig(
    quant_backend=backend,
    quant_kwargs=options,
    components_to_quantize=sorted(parts & set(DiffusionPipeline.load_config(MODEL))),
)
"""
_COMPILED = """
denoiser = getattr(pipe, "transformer", None) or pipe.unet
denoiser.compile()
"""


def export(launch: Launch) -> dict[str, str]:
    """The script."""
    one_node(launch, NAME)
    passed = launch.passing
    backend = _BACKENDS.get(passed.weights)
    text = template("paint").format(
        imported=", PipelineQuantizationConfig" if backend else "",
        model=launch.model,
        batch=passed.batch,
        size=passed.image_px,
        steps=passed.steps,
        quantised=_QUANTISED.format(backend=backend) if backend else "",
        dtype=TORCH_TYPES[passed.dtype],
        option=", quantization_config=quantised" if backend else "",
        device=launch.device,
        compiled=_COMPILED if passed.compiled else "",
    )
    needs = ("and: python3 -m pip install bitsandbytes",) if backend else ()
    return {"generate.py": comments((*launch.head, *needs)) + text}
