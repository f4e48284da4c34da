// Sends files to the API one by one, and follows the job of each until it is searchable or refused.
const form = document.querySelector("[data-upload]");
const section = document.querySelector("[data-sent]");
const words = JSON.parse(form.dataset.words);
const ARCHIVE = /\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))$/i;
const AT_ONCE = 3; // files that are sent, and jobs that are looked at
const LOOK_MS = 700;
const LOOKS = 20; // at one job, before it makes room for those behind it
const AGAIN_MS = 3000; // after an answer that says nothing of the file or its job
const SHOWN = 500; // added files; the summary counts all
const BUSY = [429, 503];
const GONE = [401, 403, 404];
const counts = { all: 0, added: 0, refused: 0, unknown: 0 };
const leaders = new Map(); // the first job of this upload, by source
const waiting = [];
const sent = [];
let sending = 0;
let following = 0;

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function bytes(number) {
  return number < 1e6 ? `${Math.ceil(number / 1e3)} KB` : `${(number / 1e6).toFixed(1)} MB`;
}

// Gives a text of the page with its numbers filled in.
function say(name, numbers = {}) {
  return words[name].replace(/\{(\w+)\}/g, (_, key) => numbers[key]);
}

function element(name, fields = {}, ...inside) {
  const made = Object.assign(document.createElement(name), fields);
  made.append(...inside);
  return made;
}

function part(name) {
  return section.querySelector(`[data-${name}]`);
}

function left() {
  return counts.all - counts.added - counts.refused - counts.unknown;
}

function summarise() {
  const { all, added, refused, unknown } = counts;
  const others = Object.entries({ refused, unknown, left: left() }).filter(([, count]) => count);
  part("summary").textContent = [say("added", { n: added, all }), ...others.map(([name, n]) => say(name, { n }))].join(" · ");
  part("overall").max = all;
  part("overall").value = all - left();
  part("overall").hidden = !left();
  part("searchable").hidden = !(added || refused);
  part("done").hidden = !added;
  part("done-summary").textContent = say("done", { n: added });
}

function rowOf(path, size) {
  const bar = element("progress", { max: 1, value: 0 });
  bar.setAttribute("aria-label", path);
  const state = element("span", { className: "state" });
  const why = element("p", { className: "sent-why" });
  const name = element("span", { className: "path mono", textContent: path });
  const row = element("li", {}, element("p", { className: "sent-file" }, name, element("span", { className: "soft", textContent: bytes(size) }), state), bar, why);
  return {
    start() {
      part("active").append(row);
    },
    say(tone, text) {
      state.className = `state ${tone}`;
      state.textContent = text;
    },
    at(share) {
      if (share === null) bar.removeAttribute("value");
      else bar.value = share;
    },
    end(how, text, address) {
      counts[how] += 1;
      bar.remove();
      this.say({ added: "good", refused: "bad" }[how] ?? "", say(`state-${how}`));
      why.textContent = text;
      if (address) why.append(" ", element("a", { href: address, textContent: say("details") }));
      const list = how === "added" ? part("added") : part("refused");
      list.append(row);
      if (how === "added" && list.children.length > SHOWN) list.firstChild.remove();
      summarise();
    },
  };
}

// Sends a file; gives the status and what was answered. Throws when the connection breaks.
function post({ file, path, source, row }) {
  return new Promise((resolve, reject) => {
    const body = new FormData();
    if (source) body.append("source", source);
    if (leaders.has(source)) body.append("batch", leaders.get(source));
    body.append("path", path);
    body.append("file", file, file.name);
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (event) => event.lengthComputable && row.at(event.loaded / event.total));
    request.addEventListener("load", () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // a proxy's page
      }
      resolve({ status: request.status, answer, again_ms: againMs(request.getResponseHeader("Retry-After")) });
    });
    request.addEventListener("error", () => reject(new Error(say("broken"))));
    request.open("POST", form.dataset.upload);
    request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
    request.send(body);
  });
}

function againMs(header) {
  return Number(header) * 1000 || AGAIN_MS;
}

// Sends a file, again while the server is busy; gives its job.
async function send(each) {
  for (;;) {
    const { status, answer, again_ms } = await post(each);
    if (status < 300) return answer.job;
    if (!BUSY.includes(status)) throw new Error(answer.detail ?? say("status", { status }));
    each.row.say("busy", say("busy"));
    await pause(again_ms);
  }
}

// Gives a job as it is now, or null when that isn't to be had just now; false when it is seen no more.
async function look(id) {
  try {
    const answer = await fetch(`${form.dataset.apiJobs}/${id}`);
    if (answer.ok) return await answer.json();
    if (GONE.includes(answer.status)) return false;
    await pause(againMs(answer.headers.get("Retry-After")));
  } catch {
    await pause(AGAIN_MS); // the network, or an answer that was cut off
  }
  return null;
}

async function follow({ id, row }) {
  for (let looks = 0; looks < LOOKS; looks += 1) {
    const job = await look(id);
    if (job === false) return row.end("unknown", say("unseen"), `${form.dataset.activity}/${id}`);
    if (job?.finished_at) return tell(job, row);
    if (job) show(job, row);
    await pause(LOOK_MS);
  }
  sent.push({ id, row });
}

function show(job, row) {
  row.say("busy", job.items_total > 1 ? say("part", { n: job.items_done, all: job.items_total }) : say("reading"));
  row.at(job.items_total > 1 ? job.items_done / job.items_total : null);
}

function tell(job, row) {
  const { report } = job;
  const reasons = { ...report.failed_by_reason, ...report.skipped_by_reason };
  const told = Object.keys(reasons).map((name) => `${reasons[name] > 1 ? `${reasons[name]}: ` : ""}${words[`reason-${name}`] ?? name}`);
  const found = report.new + report.updated + report.unchanged;
  const text = [found > 1 ? say("documents", { n: found }) : "", ...told, found ? "" : (job.error ?? "")].filter(Boolean).join(" ");
  const isAdded = job.state === "succeeded" && found > 0;
  // Of an archive each document counts.
  const others = isAdded ? found - 1 : 0;
  counts.all += others;
  counts.added += others;
  row.end(isAdded ? "added" : "refused", text, told.length || job.error ? `${form.dataset.activity}/${job.id}` : "");
}

async function upload(each) {
  const { file, row, source } = each;
  row.start();
  try {
    const limit = Number(ARCHIVE.test(file.name) ? form.dataset.archiveLimit : form.dataset.limit);
    if (file.size > limit) throw new Error(say("large", { size: bytes(file.size), limit: bytes(limit) }));
    row.say("busy", say("sending"));
    const job = await send(each);
    if (!leaders.has(source)) leaders.set(source, job.id);
    part("activity").href = `${form.dataset.activity}/${leaders.get(source)}`;
    row.say("busy", say("queued"));
    row.at(null);
    sent.push({ id: job.id, row });
    followSent();
  } catch (error) {
    row.end("refused", error.message, "");
  }
}

// The first file of a source goes alone: the others name its job.
function sendWaiting() {
  while (waiting.length && sending < (leaders.has(waiting[0].source) ? AT_ONCE : 1)) {
    sending += 1;
    upload(waiting.shift()).finally(() => {
      sending -= 1;
      sendWaiting();
    });
  }
}

async function followSent() {
  if (following >= AT_ONCE) return;
  following += 1;
  while (sent.length) await follow(sent.shift());
  following -= 1;
}

function listed(relative, size) {
  const folder = form.elements.folder.value.replace(/^\/+|\/+$/g, "");
  const path = (folder ? `${folder}/` : "") + relative;
  section.hidden = false;
  if (!left()) leaders.clear();
  counts.all += 1;
  return { path, row: rowOf(path, size) };
}

function add(file, relative) {
  waiting.push({ file, source: form.elements.source.value, ...listed(relative || file.name, file.size) });
  summarise();
  sendWaiting();
}

// Adds a file that was dropped, or those of a folder; one that can't be read is refused, and the others go on.
async function addEntry(entry) {
  const path = entry.fullPath.slice(1);
  try {
    if (entry.isFile) add(await new Promise((resolve, reject) => entry.file(resolve, reject)), path);
    else await addFolder(entry.createReader());
  } catch (error) {
    listed(path, 0).row.end("refused", say("unreadable", { error: error.message }), "");
  }
}

async function addFolder(reader) {
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!entries.length) return;
    for (const each of entries) await addEntry(each);
  }
}

// Returns whether the options are valid; else shows them.
function isReady() {
  const isValid = form.checkValidity();
  if (!isValid) form.querySelector("details").open = true;
  return isValid || form.reportValidity();
}

function chosen(event) {
  if (isReady()) for (const file of event.target.files) add(file, file.webkitRelativePath);
  event.target.value = "";
}

for (const each of form.querySelectorAll("[data-with-script]")) each.hidden = false;
for (const each of form.querySelectorAll("[data-without-script]")) each.hidden = true;
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#file").addEventListener("change", chosen);
document.querySelector("#tree").addEventListener("change", chosen);
document.querySelector("[data-choose-folder]").addEventListener("click", () => document.querySelector("#tree").click());
addEventListener("beforeunload", (event) => (waiting.length || sending) && event.preventDefault());

// Files may be dropped anywhere on the page.
const drop = document.querySelector("[data-drop]");
function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files");
}
addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  drop.classList.add("over");
});
addEventListener("dragleave", (event) => event.relatedTarget || drop.classList.remove("over"));
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  drop.classList.remove("over");
  if (!isReady()) return;
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length) entries.forEach(addEntry);
  else for (const file of event.dataTransfer.files) add(file, "");
});
