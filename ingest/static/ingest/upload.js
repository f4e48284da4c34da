// Sends files to the API one by one, and follows the job of each until it is searchable or refused.
const form = document.querySelector("[data-upload]");
const list = document.querySelector("[data-list]");
const ARCHIVE = /\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))$/i;
const AT_ONCE = 3;
const LOOK_MS = 700;
const SHOWN = 500; // rows; of further files the summary alone tells
const counts = { all: 0, searchable: 0, refused: 0 };
const waiting = [];
let working = 0;

function bytes(number) {
  return number < 1e6 ? `${Math.ceil(number / 1e3)} KB` : `${(number / 1e6).toFixed(1)} MB`;
}

function element(name, fields = {}, ...inside) {
  const made = Object.assign(document.createElement(name), fields);
  made.append(...inside);
  return made;
}

function summarise() {
  const { all, searchable, refused } = counts;
  const open = all - searchable - refused;
  document.querySelector("[data-summary]").textContent =
    `${searchable} of ${all} searchable` + (refused ? `, ${refused} refused` : "") + (open ? `, ${open} to go` : "") + ".";
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
    end(isSearchable, text, address) {
      counts[isSearchable ? "searchable" : "refused"] += 1;
      bar.hidden = true;
      this.say(isSearchable ? "good" : "bad", isSearchable ? "searchable" : "refused");
      why.textContent = text;
      if (address) why.append(" ", element("a", { href: address, textContent: "Its job" }));
      summarise();
    },
  };
}

function send(file, path, row) {
  return new Promise((resolve, reject) => {
    const body = new FormData();
    body.append("source", form.elements.source.value);
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
      if (request.status < 300) resolve(answer.job);
      else reject(new Error(answer.detail ?? `The server answered ${request.status}.`));
    });
    request.addEventListener("error", () => reject(new Error("The connection broke; send it again.")));
    request.open("POST", form.dataset.upload);
    request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
    request.send(body);
  });
}

async function follow(id, row) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const answer = await fetch(`${form.dataset.apiJobs}/${id}`);
    if (!answer.ok) throw new Error("Its job can’t be seen any more.");
    const job = await answer.json();
    if (job.finished_at) return job;
    row.say("busy", job.items_total > 1 ? `${job.items_done} of ${job.items_total} read` : "being read");
    row.at(job.items_total > 1 ? job.items_done / job.items_total : null);
  }
}

function tell(job, row) {
  const { report } = job;
  const reasons = { ...report.failed_by_reason, ...report.skipped_by_reason };
  const told = Object.keys(reasons).map((name) => `${reasons[name] > 1 ? `${reasons[name]}: ` : ""}${report.explanations[name] ?? name}`);
  const found = report.new + report.updated + report.unchanged;
  const text = [found > 1 ? `${found} documents.` : "", ...told, found ? "" : (job.error ?? "")].filter(Boolean).join(" ");
  row.end(job.state === "succeeded" && found > 0, text, told.length || job.error ? `${form.dataset.jobs}/${job.id}` : "");
}

async function upload({ file, path, row }) {
  try {
    const limit = Number(ARCHIVE.test(file.name) ? form.dataset.archiveLimit : form.dataset.limit);
    if (file.size > limit) throw new Error(`It has ${bytes(file.size)}, more than the limit of ${bytes(limit)}. Split it.`);
    row.say("busy", "being sent");
    const job = await send(file, path, row);
    row.say("busy", "to be read");
    row.at(null);
    tell(await follow(job.id, row), row);
  } catch (error) {
    row.end(false, error.message, "");
  }
}

async function work() {
  if (working >= AT_ONCE) return;
  working += 1;
  while (waiting.length) await upload(waiting.shift());
  working -= 1;
}

function add(file, relative) {
  const folder = form.elements.folder.value.replace(/^\/+|\/+$/g, "");
  const path = (folder ? `${folder}/` : "") + (relative || file.name);
  document.querySelector("[data-sent]").hidden = false;
  counts.all += 1;
  waiting.push({ file, path, row: rowOf(path, file.size) });
  summarise();
  work();
}

async function addEntry(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    add(file, entry.fullPath.slice(1));
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!entries.length) return;
    for (const each of entries) await addEntry(each);
  }
}

function chosen(event) {
  for (const file of event.target.files) add(file, file.webkitRelativePath);
  event.target.value = "";
}

for (const part of form.querySelectorAll("[data-with-script]")) part.hidden = false;
for (const part of form.querySelectorAll("[data-without-script]")) part.hidden = true;
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#file").addEventListener("change", chosen);
document.querySelector("#tree").addEventListener("change", chosen);
const drop = document.querySelector("[data-drop]");
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
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length) entries.forEach(addEntry);
  else for (const file of event.dataTransfer.files) add(file, "");
});
