"""What benchmarks, trainers and engines write, in small: invented figures, the fields of each program."""
# ruff: noqa: E501 - lines as the programs write them

from __future__ import annotations

import json

VLLM_SERVE = {
    "date": "20261101-101112", "endpoint_type": "vllm", "backend": "vllm", "label": None,
    "model_id": "meta-llama/Llama-3.1-8B-Instruct", "tokenizer_id": "meta-llama/Llama-3.1-8B-Instruct",
    "num_prompts": 320, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 32, "duration": 30.0,
    "completed": 320, "total_input_tokens": 327680, "total_output_tokens": 81920,
    "request_throughput": 10.6, "output_throughput": 2730.5, "total_token_throughput": 13650.0,
    "mean_ttft_ms": 210.5, "median_ttft_ms": 200.0, "p99_ttft_ms": 400.0, "mean_tpot_ms": 10.5,
    "median_tpot_ms": 10.1, "mean_itl_ms": 10.4,
}  # fmt: skip
VLLM_LATENCY = {"avg_latency": 1.25, "latencies": [1.2, 1.3], "percentiles": {"50": 1.25}}
VLLM_THROUGHPUT = {
    "elapsed_time": 50.0, "num_requests": 1000, "total_num_tokens": 413000,
    "requests_per_second": 20.0, "tokens_per_second": 8260.0,
}  # fmt: skip
SGLANG = {
    "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"), "max_concurrency": 16,
    "sharegpt_output_len": None, "random_input_len": 1024, "random_output_len": 512,
    "random_range_ratio": 1.0, "duration": 60.0, "completed": 160, "total_input_tokens": 163840,
    "total_output_tokens": 81920, "total_output_tokens_retokenized": 81800, "request_throughput": 2.67,
    "input_throughput": 2730.0, "output_throughput": 1365.0, "mean_e2e_latency_ms": 5900.0,
    "mean_ttft_ms": 180.0, "median_ttft_ms": 170.0, "mean_tpot_ms": 11.2, "mean_itl_ms": 11.2,
    "concurrency": 15.7, "accept_length": None,
    "server_info": {"model_path": "Qwen/Qwen3-8B", "tp_size": 2, "version": "0.5.3", "quantization": None},
}  # fmt: skip
AIPERF = {
    "request_throughput": {"unit": "requests/sec", "avg": 6.4},
    "request_latency": {"unit": "ms", "avg": 2500.0, "p50": 2480.0, "p99": 3100.0},
    "time_to_first_token": {"unit": "ms", "avg": 150.0, "p50": 140.0, "p99": 300.0},
    "inter_token_latency": {"unit": "ms", "avg": 9.3, "p50": 9.2, "p99": 10.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 1640.0},
    "output_sequence_length": {"unit": "tokens", "avg": 256.0},
    "input_sequence_length": {"unit": "tokens", "avg": 550.0},
    "input_config": {
        "endpoint": {"model_names": ["Qwen/Qwen3-8B"], "urls": ["http://localhost:8000"]},
        "loadgen": {"concurrency": 16},
    },
    "telemetry_data": {
        "endpoints": {"http://localhost:9401": {"gpus": {"0": {"gpu_name": "NVIDIA H100 80GB HBM3"}}}}
    },
}  # fmt: skip
GENAI_PERF_CSV = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ms),150.00,100.00,400.00,390.00,300.00,200.00,160.00,140.00,120.00
Request Latency (ms),"37,719.87","11,690.65","58,601.16","58,194.75","55,000.00","50,017.27","45,109.17","37,000.00","30,000.00"
Inter Token Latency (ms),81.50,80.00,90.00,89.00,88.00,87.00,83.00,81.00,80.50
Output Sequence Length (tokens),460.20,97.00,718.00,715.53,700.00,683.40,588.00,460.00,300.00
Input Sequence Length (tokens),550.00,550.00,550.00,550.00,550.00,550.00,550.00,550.00,550.00

Metric,Value
Output Token Throughput (tokens/sec),91.19
Request Throughput (per sec),0.20
Request Count (count),20.00
"""
GUIDELLM = {
    "metadata": {"version": 1},
    "args": {"target": "http://localhost:8000", "model": "meta-llama/Llama-3.1-8B-Instruct"},
    "benchmarks": [
        {
            "config": {"strategy": {"type_": "concurrent", "streams": 8}},
            "metrics": {
                "request_concurrency": {"successful": {"mean": 7.9}, "total": {"mean": 8.0}},
                "request_latency": {"successful": {"mean": 2.2}},
                "prompt_token_count": {"successful": {"mean": 256.0}},
                "output_token_count": {"successful": {"mean": 128.0}},
                "time_to_first_token_ms": {"successful": {"mean": 60.0, "median": 58.0}},
                "inter_token_latency_ms": {"successful": {"mean": 8.1, "median": 8.0}},
                "output_tokens_per_second": {"successful": {"mean": 940.0}},
            },
        }
    ],
}
LLAMA_BENCH = {
    "build_commit": "8cf427ff", "build_number": 5163, "cpu_info": "AMD Ryzen 7 7800X3D 8-Core Processor",
    "gpu_info": "NVIDIA GeForce RTX 4080", "backends": "CUDA",
    "model_filename": "models/Qwen2.5-7B-Instruct-Q4_K_M.gguf", "model_type": "qwen2 7B Q4_K - Medium",
    "model_size": 4677120000, "model_n_params": 7615616512, "n_batch": 2048, "n_ubatch": 512,
    "n_threads": 8, "type_k": "f16", "type_v": "f16", "n_gpu_layers": 99, "n_cpu_moe": 0,
    "split_mode": "layer", "main_gpu": 0, "no_kv_offload": False, "flash_attn": True, "n_prompt": 512,
    "n_gen": 0, "n_depth": 0, "test_time": "2025-04-24T11:58:50Z", "avg_ns": 72135640, "stddev_ns": 1453752,
    "avg_ts": 7100.002165, "stddev_ts": 140.341520,
}  # fmt: skip
LLAMA_DECODE = LLAMA_BENCH | {"n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ts": 118.881588}
LLAMA_MD = """ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes
| model                          |       size |     params | backend    | ngl | fa |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | -: | --------------: | -------------------: |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |  1 |           pp512 |    12000.50 ± 100.45 |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |  1 |   tg128 @ d4096 |        128.60 ± 0.59 |

build: abcdef12 (5163)
"""
MLPERF = """================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 84.20
Completed tokens per second: 23900.10
Result is : VALID
  Performance constraints satisfied : Yes
  Min duration satisfied : Yes

================================================
Additional Stats
================================================
Min latency (ns)                : 900000000
Mean latency (ns)               : 12500000000
50.00 percentile latency (ns)   : 12000000000
Mean First Token latency (ns)   : 600000000
Mean Time per Output Token (ns)  : 42000000
"""
TRAINER_STATE = {
    "best_metric": None, "epoch": 1.0, "global_step": 500, "is_local_process_zero": True,
    "log_history": [
        {"epoch": 0.1, "loss": 1.9, "learning_rate": 2e-4, "step": 50},
        {"epoch": 1.0, "step": 500, "total_flos": 1.2e17, "train_loss": 1.2, "train_runtime": 1000.0,
         "train_samples_per_second": 4.0, "train_steps_per_second": 0.5},
    ],
    "max_steps": 500, "num_train_epochs": 1, "train_batch_size": 4, "trial_name": None,
}  # fmt: skip
TRAINER_PRINTED = """***** train metrics *****
  epoch                    =        1.0
  total_flos               = 123456GF
  train_loss               =     1.2345
  train_runtime            = 0:16:40.00
  train_samples_per_second =        4.0
  train_steps_per_second   =        0.5
"""
TORCHTUNE = """Step 1 | loss:1.9 lr:2e-05 tokens_per_second_per_gpu:900.5 peak_memory_active:19.9 peak_memory_alloc:19.5 peak_memory_reserved:22.0
Step 2 | loss:1.8 lr:2e-05 tokens_per_second_per_gpu:4100.5 peak_memory_active:20.9 peak_memory_alloc:20.5 peak_memory_reserved:23.0
Step 3 | loss:1.7 lr:2e-05 tokens_per_second_per_gpu:4200.5 peak_memory_active:20.9 peak_memory_alloc:20.4 peak_memory_reserved:23.0
"""
VLLM_LOG = """(APIServer pid=1) INFO 11-01 10:00:00 [api_server.py:1896] vLLM API server version 0.11.0
(APIServer pid=1) INFO 11-01 10:00:00 [api_utils.py:286] non-default args: {'model_tag': 'Qwen/Qwen3-14B', 'max_model_len': 8192, 'gpu_memory_utilization': 0.95, 'max_num_seqs': 256}
(APIServer pid=1) INFO 11-01 10:00:01 [scheduler.py:277] Chunked prefill is enabled with max_num_batched_tokens=8192.
(EngineCore_DP0 pid=2) INFO 11-01 10:00:05 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='Qwen/Qwen3-14B', speculative_config=None, dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda
(Worker_TP0 pid=3) INFO 11-01 10:00:25 [gpu_model_runner.py:2653] Model loading took 13.7500 GiB and 9.1 seconds
(Worker_TP1 pid=4) INFO 11-01 10:00:25 [gpu_model_runner.py:2653] Model loading took 13.7400 GiB and 9.3 seconds
(Worker_TP0 pid=3) INFO 11-01 10:00:45 [gpu_worker.py:298] Available KV cache memory: 58.20 GiB
(Worker_TP1 pid=4) INFO 11-01 10:00:45 [gpu_worker.py:298] Available KV cache memory: 58.10 GiB
(EngineCore_DP0 pid=2) INFO 11-01 10:00:45 [kv_cache_utils.py:1087] GPU KV cache size: 761,504 tokens
(EngineCore_DP0 pid=2) INFO 11-01 10:00:45 [kv_cache_utils.py:1091] Maximum concurrency for 8,192 tokens per request: 92.96x
(Worker_TP0 pid=3) INFO 11-01 10:01:00 [gpu_model_runner.py:3480] Graph capturing finished in 5 secs, took 0.60 GiB
"""
VLLM_OLD_LOG = """INFO 05-30 16:22:25 llm_engine.py:237] Initializing an LLM engine (v0.6.6) with config: model='meta-llama/Llama-3.1-8B', dtype=torch.bfloat16, max_seq_len=32768, tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto
INFO 05-30 16:23:22 model_runner.py:1115] Loading model weights took 14.9888 GB
INFO 05-30 16:23:28 worker.py:267] the current vLLM instance can use total_gpu_memory (79.14GiB) x gpu_memory_utilization (0.90) = 71.22GiB
INFO 05-30 16:23:28 worker.py:267] model weights take 14.99GiB; non_torch_memory takes 0.12GiB; PyTorch activation peak memory takes 1.19GiB; the rest of the memory reserved for KV Cache is 54.93GiB.
INFO 05-30 16:23:28 executor_base.py:110] # CUDA blocks: 28123, # CPU blocks: 2048
"""
SGLANG_LOG = """[2025-07-14 05:48:30] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tokenizer_path='Qwen/Qwen3-8B', quantization=None, kv_cache_dtype='auto', mem_fraction_static=0.88, max_running_requests=None, chunked_prefill_size=8192, tp_size=1, pp_size=1, dp_size=1)
[2025-07-14 05:48:43] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=62.37 GB, mem usage=15.35 GB.
[2025-07-14 05:48:43] KV Cache is allocated. #tokens: 381410, K size: 26.20 GB, V size: 26.20 GB
[2025-07-14 05:48:43] Memory pool end. avail mem=9.46 GB
[2025-07-14 05:49:02] Capture cuda graph end. Time elapsed: 18.07 s. mem usage=0.51 GB. avail mem=8.83 GB.
[2025-07-14 05:49:02] max_total_num_tokens=381410, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=40960, available_gpu_mem=8.83 GB
"""


def _sql(one: dict[str, object]) -> str:
    values = ", ".join(f"'{value}'" for value in one.values())
    return f"INSERT INTO llama_bench ({', '.join(one)}) VALUES ({values});\n"  # noqa: S608 - no database sees it


def _csv(*rows: dict[str, object]) -> str:
    lines = [",".join(rows[0]), *(",".join(f'"{value}"' for value in row.values()) for row in rows)]
    return "\n".join(lines) + "\n"


FILES = {
    "vllm_serve.json": json.dumps(VLLM_SERVE),
    "vllm_appended.json": json.dumps(VLLM_SERVE) + "\n" + json.dumps(VLLM_SERVE | {"max_concurrency": 64}),
    "vllm_latency.json": json.dumps(VLLM_LATENCY),
    "vllm_throughput.json": json.dumps(VLLM_THROUGHPUT),
    "sglang.jsonl": json.dumps(SGLANG) + "\n",
    "profile_export_aiperf.json": json.dumps(AIPERF, indent=2),
    "profile_export_genai_perf.csv": GENAI_PERF_CSV,
    "benchmarks.json": json.dumps(GUIDELLM),
    "llama.json": json.dumps([LLAMA_BENCH, LLAMA_DECODE], indent=2),
    "llama.jsonl": json.dumps(LLAMA_BENCH) + "\n" + json.dumps(LLAMA_DECODE) + "\n",
    "llama.csv": _csv(LLAMA_BENCH, LLAMA_DECODE),
    "llama.sql": "CREATE TABLE IF NOT EXISTS llama_bench (avg_ts REAL);\n"
    + _sql(LLAMA_BENCH)
    + _sql(LLAMA_DECODE),
    "llama.md": LLAMA_MD,
    "mlperf_log_summary.txt": MLPERF,
    "trainer_state.json": json.dumps(TRAINER_STATE, indent=2),
    "trainer.log": TRAINER_PRINTED,
    "torchtune.txt": TORCHTUNE,
    "vllm.log": VLLM_LOG,
    "vllm_old.log": VLLM_OLD_LOG,
    "sglang.log": SGLANG_LOG,
    "results.csv": "Model,GPU,Concurrency,Input Tokens,Output Tokens,TTFT (ms),Throughput (tok/s)\n"
    "meta-llama/Llama-3.1-8B-Instruct,rtx 4090,16,1024,256,310,820\n",
}
