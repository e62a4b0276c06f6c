// What fields and kinds of work are called; an option without a row here bears its own name.
import { spoken } from "./words.js";

const LABELS = {
  accumulate: ["Gradient accumulation", "梯度累积步数"], after: ["Replace after, years", "几年后更换"], aim: ["What comes first", "优先目标"],
  hours: ["Hours of use", "使用小时数"], all: ["All findings", "全部结果"], free: ["Free GPU memory", "空闲显存"], all_formats: ["All formats", "列出全部格式"], api: ["API price", "API 价格"],
  attention_dp: ["Attention data parallel", "注意力数据并行"], base: ["Base format", "基座格式"], batch: ["Batch", "批大小"], budget: ["Budget", "预算"],
  buy: ["Buy only", "只购买"], cached: ["Prefix cache hits", "前缀缓存命中率"], chips: ["GPUs", "限定 GPU"], chunked_loss: ["Chunked loss", "分块交叉熵"],
  cloud: ["Clouds", "限定云厂商"], compiled: ["Compiled", "编译模型"], concurrency: ["Concurrency", "并发"], context: ["Context", "上下文长度"],
  cooling: ["Cooling", "制冷功耗占比"], cp: ["Context parallel", "上下文并行"], cpu_moe: ["Expert layers in RAM", "放内存的专家层数"], currency: ["Currency", "货币"],
  details: ["Details", "详情"], customer: ["Tariff for", "用电类别"], days: ["Deadline", "期限"], dp: ["Replicas", "副本数"], draft: ["Speculative decoding", "投机解码"],
  draft_tokens: ["Draft tokens", "草稿 token 数"], duty: ["Utilization", "工作时间占比"], engine: ["Engine", "推理引擎"], ep: ["Expert parallel", "专家并行"],
  epochs: ["Epochs", "训练轮数"], family: ["Model family", "模型家族"], flash: ["Flash attention", "Flash attention"], for: ["Model", "模型"],
  gpu_layers: ["Layers on the GPU", "放 GPU 的层数"], grows_to: ["Grows to model", "以后的模型"], growth: ["Growth", "增长余量"], frames: ["Frames, or 5s", "帧数，或 5s"], image_size: ["Image size", "图像尺寸"], images: ["Images per request", "每个请求的图片"],
  kv: ["KV cache format", "KV 缓存格式"], lang: ["Language", "语言"], latency: ["Latency limit", "批延迟上限"], licence: ["License", "许可证"], limit: ["Rows", "显示行数"],
  machine: ["Machine", "机器"], max_chips: ["Max. GPUs", "GPU 数上限"], max_params: ["Max. parameters", "参数量上限"], max_seqs: ["Max. sequences", "最大序列数"],
  method: ["Method", "训练方法"], micro_batch: ["Micro-batch", "micro-batch"], min_params: ["Min. parameters", "参数量下限"], mode: ["Kind of work", "场景"],
  model: ["Model", "模型"], mtok: ["Output per month, M tokens", "每月输出（百万 token）"], no_attention_dp: ["No attention data parallel", "注意力不按数据并行"], no_flash: ["No flash attention", "不用 flash attention"],
  offload_kv: ["KV cache beside the GPU", "显存外的 KV 缓存"], shared: ["Shared prefix", "公共前缀"], turns: ["Turns", "会话轮数"], think: ["Time between turns", "轮间隔"],
  no_graphs: ["No CUDA graphs", "不用 CUDA graph"], offload: ["Offload", "卸载"], on: ["Machine", "机器"], only: ["Checks", "限定检查"], optimizer: ["Optimizer", "优化器"],
  output: ["Output tokens", "输出长度"], own: ["GPUs you own", "已有的 GPU"], people: ["Staff per month", "每月人力"], per_hour: ["Cost per hour limit", "每小时费用上限"],
  per_mtok: ["Cost per 1M tokens limit", "每百万 token 费用上限"], percentile: ["Percentile", "百分位"], requests: ["Requests of the run", "这次运行的请求数"], place: ["Place", "地区"], plans: ["Max. options", "方案数上限"],
  pp: ["Pipeline parallel", "流水线并行"], precision: ["Precision", "精度"], prompt: ["Prompt tokens", "提示词长度"], pue: ["PUE", "PUE"], quality: ["Least quality", "精度下限"],
  objective: ["Loss", "训练损失"], group: ["Completions per prompt", "每个提示的回答数"], prompts: ["Prompts per step", "每步提示数"],
  completion: ["Completion tokens", "回答长度"], rollout: ["Rollout engine", "rollout 引擎"], rollout_gpus: ["Rollout GPUs", "rollout 用卡数"],
  rollout_tp: ["GPUs per rollout engine", "每个 rollout 引擎的卡数"], waves: ["Rollout waves", "rollout 批次"],
  rank: ["LoRA rank", "LoRA 秩"], rate: ["Request rate", "请求速率"], recompute: ["Checkpointing", "激活重计算"], references: ["Reference models", "参考模型数"], rent: ["Rent only", "只租用"], room: ["Power outlet", "供电"],
  samples: ["Samples", "样本数"], schedule: ["Pipeline schedule", "流水线调度"], seq: ["Sequence length", "序列长度"], sequence_parallel: ["Sequence parallel", "序列并行"],
  serve: ["Serve", "推理"], sharding: ["Sharding", "状态切分"], space: ["Space per month", "每月场地费"], spot: ["Spot prices", "竞价实例"], step_tokens: ["Tokens per step", "每步 token 数"],
  images: ["Images per request", "每个请求的图片"], have: ["PC at hand", "现有电脑"],
  steps: ["Denoising steps", "去噪步数"], targets: ["Adapter targets", "适配器位置"], tariff: ["Electricity price", "电价"], task: ["Task", "任务"], then: ["Replace with", "换成"],
  things: ["Machines", "对比对象"], tok_per_s: ["Min. throughput", "吞吐下限"], tokens: ["Training tokens", "训练 token 数"], tp: ["Tensor parallel", "张量并行"],
  tpot: ["TPOT limit", "TPOT 上限"], train: ["Train", "训练"], trainer: ["Trainer", "训练框架"], ttft: ["TTFT limit", "首 token 延迟上限"], upkeep: ["Upkeep per year", "每年维修费"],
  used: ["Used cards", "二手卡"], util: ["GPU memory share", "显存占用比例"], vendor: ["Vendors", "限定厂商"], virtual_stages: ["Virtual stages", "虚拟流水段"],
  have: ["Your PC", "现有电脑"],
  watts: ["Power limit", "功率上限"], weights: ["Weight format", "权重格式"], what: ["Machine", "机器"], why: ["Formulas and sources", "公式与来源"], years: ["Years", "折旧年数"],
};
const WORKS = {
  serve: ["serving", "通用推理"], chat: ["chat", "聊天"], rag: ["RAG", "RAG"], agent: ["agents", "智能体"], batch: ["batch jobs", "批处理"], rerank: ["reranking", "重排"],
  speech: ["speech to text", "语音识别"], finetune: ["fine-tuning", "微调"], pretrain: ["pretraining", "预训练"], image: ["image generation", "图像生成"], embed: ["embeddings", "向量化"],
};
const told = (row) => row?.[spoken() === "zh" ? 1 : 0];

export const label = (name) => told(LABELS[name]) ?? name.replaceAll("_", " ");
export const work = (name) => told(WORKS[name]) ?? name;
