"""Environment variables that change what accelerators do; what is secret in them is never read on."""

from __future__ import annotations

import re

from rigright.machine.record import Read, telling
from rigright.machine.values import without_login
from rigright.machine.world import World

NAMED = {
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX",
    "GPU_DEVICE_ORDINAL", "PYTORCH_ALLOC_CONF", "KUBERNETES_SERVICE_HOST", "WORLD_SIZE", "RANK",
    "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "MALLOC_ARENA_MAX", "TRANSFORMERS_CACHE", "TORCH_HOME",
    "TRITON_CACHE_DIR", "XLA_FLAGS", "TMPDIR", "DOCKER_HOST", "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_CPP_MIN_LOG_LEVEL", "TOKENIZERS_PARALLELISM", "NO_CUDA", "FORCE_CUDA",
}  # fmt: skip
BEGIN = (
    "CUDA_", "NVIDIA_", "NCCL_", "RCCL_", "HIP_", "ROCR_", "HSA_", "ROCM_", "PYTORCH_", "TORCH_",
    "CUBLAS_", "CUDNN_", "OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "KMP_", "GOMP_", "HF_", "VLLM_",
    "SGLANG_", "SGL_", "TRTLLM_", "SLURM_JOB_ID", "SLURM_GPU", "SLURM_CPUS", "SLURM_MEM", "UCX_",
    "OMPI_MCA_", "GLOO_", "FI_", "NVSHMEM_", "OLLAMA_", "LLAMA_", "TF_", "JAX_", "RAY_", "ONEAPI_", "ZE_",
    "PIP_", "NV_",
)  # fmt: skip
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SIGNATURE|PRIVATE", re.IGNORECASE)
_HARMLESS = {"TOKENIZERS_PARALLELISM"}
_MOST_CHARS = 2000
_MOST_TEXT = 300_000
_VARIABLE = re.compile(
    r"^(?:(?:declare -x|export) )?([A-Za-z_][A-Za-z0-9_]{0,80})=(.{0,4000})$", re.MULTILINE
)
_LEAST_VARIABLES = 3
HIDDEN = "(set)"


def read(world: World) -> Read:
    """Those that are set, sorted; a secret is stated as set."""
    pairs = tuple((name, shown(name, value)) for name, value in sorted(world.env.items()) if matters(name))
    return Read(fields=telling(environment=pairs))


def matters(name: str) -> bool:
    """Whether it changes what accelerators, or the programs that use them, do."""
    return name in NAMED or name.startswith(BEGIN)


def shown(name: str, value: str) -> str:
    """Its value, or that it is set where it is a secret."""
    if _SECRET.search(name) and name not in _HARMLESS:
        return HIDDEN
    return without_login(value)[:_MOST_CHARS]


def is_environment(text: str) -> bool:
    """Whether it is what `env` prints: variables and nothing else, some that matter here."""
    values = _VARIABLE.findall(text[:_MOST_TEXT])
    lines = [line for line in text[:_MOST_TEXT].splitlines() if line.strip()]
    return (
        len(values) >= _LEAST_VARIABLES
        and 2 * len(values) > len(lines)
        and any(matters(name) for name, _ in values)
    )


def read_environment(text: str) -> Read:
    """Those that change what accelerators do; a secret is stated as set."""
    fields = {
        name: value.strip("\"'") for name, value in _VARIABLE.findall(text[:_MOST_TEXT]) if matters(name)
    }
    return Read(
        fields=telling(
            environment=tuple((name, shown(name, value)) for name, value in sorted(fields.items()))
        )
    )
