// The page's own sentences; all others come with the answers.
const zh = {
  Plan: "规划", Explain: "详解", "What fits": "能跑什么", Compare: "对比", Build: "装机", Cost: "成本", Doctor: "体检",
  "This machine": "本机", Accuracy: "准确度", Myths: "误区",
  "Run": "运行", "for": "，供", "users, as": "人并发使用，场景", "as": "，用途", ", on": "，用",
  "any machine or budget": "任意机器或预算", "More options": "更多选项", "Options": "选项",
  "Memory of each GPU": "每张 GPU 的显存", "Cost and speed": "成本与速度", "Options found": "可选方案",
  "Why": "理由", "Passed over": "未入选", "Assumed": "说明", "Weights": "权重", "KV cache": "KV 缓存",
  "Training states": "训练状态", "Runtime": "运行开销", "Free": "空闲",
  "Machine": "机器", "Supply": "来源", "Format": "格式", "Price": "价格", "Tokens/s": "token/秒", "TTFT": "首 token", "TPOT": "TPOT",
  "Power": "功耗", "$ per 1M tokens": "$/百万 token", "$/hour": "$/小时", "Concurrency": "并发",
  "Copy command": "复制命令", "Copy link": "复制链接", "Copied": "已复制", "Print": "打印",
  "Point at a dot to read it; lines are 80% bands.": "指向圆点查看数值；线段为 80% 区间。",
  "buy": "购买", "buy used": "购买二手", "rent": "租用",
  "Drop a capture here": "把采集文件拖到这里",
  "nvidia-bug-report, dmesg, nvidia-smi -q, a folder as tar or zip, or `probe --save`": "nvidia-bug-report、dmesg、nvidia-smi -q、tar 或 zip 打包的文件夹，或 `probe --save` 的记录",
  "Choose a file": "选择文件", "Examine this machine": "检查本机",
  "What is wrong, slow or risky on a machine": "机器哪里有问题、变慢或有风险",
  "The file stays on the machine that serves this page, and is deleted after the answer.": "文件只到提供本页的机器，回答后即删除。",
  "How close predictions are": "预测与实测差多少",
  "Drop a CSV of your own runs: each is predicted and held against what you measured. Below: what machines should reach.": "拖入自己的实测 CSV：逐条预测并与实测对照。下面是各种机器应达到的数值。",
  "Drop measured runs here": "把实测数据拖到这里",
  "CSV as `validate` reads it": "`validate` 能读的 CSV",
  "The machine that serves this page, every two seconds": "提供本页的机器，每两秒一次",
  "The file stays in this browser.": "文件不会离开这个浏览器。",
  "A browser cannot see the machine it runs on. Type there:": "浏览器看不到它所在的机器。请在那台机器上输入：",
  "The first examines it; the second saves what it has to a file that can be dropped here.": "第一条直接体检；第二条把机器信息存成文件，可以拖到这里。",
  "What is in it; what it does now; this page with both.": "依次是：机器里有什么；它正在做什么；带这两项的本页面。",
  "Starting rigright in this browser: some seconds, and 12 MB the first time.": "正在浏览器里启动 rigright：需要几秒，首次要下载 12 MB。",
  "rigright runs in this browser: nothing you type or drop leaves it.": "rigright 在这个浏览器里运行：输入的内容和拖入的文件都不会离开它。",
  "rigright did not start in this browser; load the page again.": "rigright 没能在这个浏览器里启动；请重新打开本页。",
  "No answer": "没有答案", "Try again": "重试", "Light": "浅色", "Dark": "深色", "Auto": "自动",
  "Skip to the answer": "跳到答案", "Views": "页面", "Question": "提问", "Answer": "答案",
  "yes": "是", "GPU": "GPU", "Fill in the fields marked *.": "请填写带 * 的栏目。",
  "Model": "模型", "Concurrent requests": "并发请求数", "Kind of work": "工作类型", "Machine or budget": "机器或预算",
};
export const LANGUAGES = ["en", "zh"];
let language = "en";
export const speak = (lang) => { language = LANGUAGES.includes(lang) ? lang : "en"; };
export const spoken = () => language;
export const t = (text) => (language === "zh" && zh[text]) || text;
