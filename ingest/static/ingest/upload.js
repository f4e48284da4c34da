// Sends files to the API one by one, and follows the job of each until it is searchable or refused.
const form = document.querySelector("[data-upload]");
const section = document.querySelector("[data-sent]");
const list = document.querySelector("[data-list]");
const ARCHIVE = /\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))$/i;
const AT_ONCE = 3; // files that are sent, and jobs that are looked at
const LOOK_MS = 700;
const LOOKS = 20; // at one job, before it makes room for those behind it
const AGAIN_MS = 3000; // after an answer that says nothing of the file or its job
const SHOWN = 500; // rows; of further files those that are refused are shown, and the summary tells of all
const BUSY = [429, 503];
const GONE = [401, 403, 404];
const counts = { all: 0, searchable: 0, refused: 0, unknown: 0 };
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

function element(name, fields = {}, ...inside) {
  const made = Object.assign(document.createElement(name), fields);
  made.append(...inside);
  return made;
}

function summarise() {
  const { all, searchable, refused, unknown } = counts;
  const open = all - searchable - refused - unknown;
  const others = Object.entries({ refused, "sent, but not seen to the end": unknown, "to go": open });
  document.querySelector("[data-summary]").textContent =
    `${searchable} of ${all} searchable` + others.map(([name, count]) => (count ? `, ${count} ${name}` : "")).join("") + ".";
  document.querySelector("[data-searchable]").hidden = !searchable;
}

function rowOf(path, size) {
  const bar = element("progress", { max: 1, value: 0 });
  bar.setAttribute("aria-label", path);
  const state = element("span", { className: "state", textContent: "waiting" });
  const why = element("p", { className: "beside" });
  const name = element("span", { className: "path mono", textContent: path });
  const row = element("li", {}, element("p", {}, name, " ", element("span", { className: "soft", textContent: bytes(size) })), bar, state, why);
  if (list.children.length < SHOWN) list.append(row);
  return {
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
      bar.hidden = true;
      this.say({ searchable: "good", refused: "bad" }[how] ?? "", how === "unknown" ? "sent" : how);
      if (how === "refused" && !row.isConnected) list.append(row);
      why.textContent = text;
      if (address) why.append(" ", element("a", { href: address, textContent: "Its job" }));
      summarise();
    },
  };
}

// Sends a file; gives the status and what was answered. Throws when the connection breaks.
function post({ file, path, source, row }) {
  return new Promise((resolve, reject) => {
    const body = new FormData();
    body.append("source", source);
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
    request.addEventListener("error", () => reject(new Error("The connection broke; send it again.")));
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
    if (!BUSY.includes(status)) throw new Error(answer.detail ?? `The server answered ${status}.`);
    each.row.say("busy", "waiting for the server");
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
    if (job === false) return row.end("unknown", "What became of it can’t be seen from here any more.", `${form.dataset.jobs}/${id}`);
    if (job?.finished_at) return tell(job, row);
    if (job) show(job, row);
    await pause(LOOK_MS);
  }
  sent.push({ id, row });
}

function show(job, row) {
  row.say("busy", job.items_total > 1 ? `${job.items_done} of ${job.items_total} read` : "being read");
  row.at(job.items_total > 1 ? job.items_done / job.items_total : null);
}

function tell(job, row) {
  const { report } = job;
  const reasons = { ...report.failed_by_reason, ...report.skipped_by_reason };
  const told = Object.keys(reasons).map((name) => `${reasons[name] > 1 ? `${reasons[name]}: ` : ""}${report.explanations[name] ?? name}`);
  const found = report.new + report.updated + report.unchanged;
  const text = [found > 1 ? `${found} documents.` : "", ...told, found ? "" : (job.error ?? "")].filter(Boolean).join(" ");
  row.end(job.state === "succeeded" && found > 0 ? "searchable" : "refused", text, told.length || job.error ? `${form.dataset.jobs}/${job.id}` : "");
}

async function upload(each) {
  const { file, row } = each;
  try {
    const limit = Number(ARCHIVE.test(file.name) ? form.dataset.archiveLimit : form.dataset.limit);
    if (file.size > limit) throw new Error(`It has ${bytes(file.size)}, more than the limit of ${bytes(limit)}. Split it.`);
    row.say("busy", "being sent");
    const job = await send(each);
    row.say("busy", "to be read");
    row.at(null);
    sent.push({ id: job.id, row });
    followSent();
  } catch (error) {
    row.end("refused", error.message, "");
  }
}

async function sendWaiting() {
  if (sending >= AT_ONCE) return;
  sending += 1;
  while (waiting.length) await upload(waiting.shift());
  sending -= 1;
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
  if (section.hidden) {
    section.hidden = false;
    section.scrollIntoView({ block: "nearest" });
  }
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
    listed(path, 0).row.end("refused", `It can’t be read: ${error.message}`, "");
  }
}

async function addFolder(reader) {
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!entries.length) return;
    for (const each of entries) await addEntry(each);
  }
}

function chosen(event) {
  if (form.elements.source.reportValidity()) for (const file of event.target.files) add(file, file.webkitRelativePath);
  event.target.value = "";
}

for (const part of form.querySelectorAll("[data-with-script]")) part.hidden = false;
for (const part of form.querySelectorAll("[data-without-script]")) part.hidden = true;
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#file").addEventListener("change", chosen);
document.querySelector("#tree").addEventListener("change", chosen);
addEventListener("beforeunload", (event) => (waiting.length || sending) && event.preventDefault());
const drop = document.querySelector("[data-drop]");
// What is dropped beside the box a browser would open, in the place of this page.
for (const name of ["dragover", "drop"]) {
  addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = drop.contains(event.target) ? "copy" : "none";
  });
}
for (const name of ["dragenter", "dragover"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
}
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  if (!form.elements.source.reportValidity()) return;
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length) entries.forEach(addEntry);
  else for (const file of event.dataTransfer.files) add(file, "");
});
