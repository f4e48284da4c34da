// With a script an answer comes as it is made: what was found, the text, then the page of the kept answer itself.
const asker = document.querySelector("form[data-stream]");
const NO_ID = "00000000-0000-0000-0000-000000000000";
const MARKER = /\[#\d{1,3}\]/g;
let asking = null; // ends the request that is under way
let shownPath = location.pathname;

if (asker) {
  asker.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!asking && asker.elements.question.value.trim()) ask(asker.elements.question.value);
  });
  addEventListener("pagehide", () => asking?.abort());
  // Links within the page, too, tell of a new state.
  addEventListener("popstate", () => {
    if (location.pathname !== shownPath) location.reload();
  });
}

async function ask(question) {
  const live = begin(question);
  const ending = (asking = new AbortController());
  try {
    const answer = await streamed(await sent(question, ending.signal), live);
    await settle(live, answer);
  } catch (error) {
    end(live, ending.signal.aborted ? stopped(live) : live.dataset[error instanceof Told ? error.message : "broken"] ?? error.message);
  } finally {
    asking = null;
    asker.querySelector("[type=submit]").disabled = false;
  }
}

// What is shown in the place of an answer: the name of a text of the template, or a text of the server.
class Told extends Error {}

function begin(question) {
  const live = document.querySelector("template[data-live]").content.firstElementChild.cloneNode(true);
  part(live, "question").textContent = question;
  document.querySelector("[data-turns]").append(live);
  for (const other of document.querySelectorAll("[data-before-asking]")) other.hidden = true;
  asker.querySelector("[type=submit]").disabled = true;
  live.querySelector("[data-stop]").addEventListener("click", () => asking?.abort());
  say(live, live.dataset.searching);
  live.scrollIntoView({ block: "start" });
  return live;
}

async function sent(question, signal) {
  const fields = new FormData(asker);
  const body = { question };
  if (fields.get("conversation_id")) body.conversation_id = fields.get("conversation_id");
  if (fields.has("source")) body.filters = { source: fields.getAll("source") };
  const response = await fetch(asker.dataset.stream, {
    method: "POST",
    headers: {
      Accept: "text/event-stream",
      "Content-Type": "application/json",
      "X-CSRFToken": fields.get("csrfmiddlewaretoken"),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw new Told(await refusal(response));
  return response;
}

async function refusal(response) {
  if (response.status === 401 || response.status === 403) return "signedOut";
  if (response.status === 404) return "noConversation";
  const problem = await response.json().catch(() => ({}));
  return [problem.detail, ...(problem.errors ?? []).map((error) => error.message)].filter(Boolean).join(" ") || "refused";
}

async function streamed(response, live) {
  let text = "";
  for await (const [name, fields] of eventsOf(response.body)) {
    if (name === "retrieval") found(live, fields);
    if (name === "token") show(live, (text += fields.text));
    if (name === "final") return fields;
  }
  throw new Told("cutOff");
}

async function* eventsOf(body) {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const found = /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(block);
      if (found) yield [found[1], JSON.parse(found[2])];
    }
  }
}

function found(live, { conversation_id, hits }) {
  live.dataset.conversation = conversation_id;
  for (const hit of hits.slice(0, 5)) {
    const item = part(live, "hit").content.firstElementChild.cloneNode(true);
    part(item, "rank").textContent = hit.rank;
    part(item, "title").textContent = (hit.title || hit.citation.path).slice(0, 160);
    part(item, "uri").textContent = hit.citation.uri.slice(0, 200);
    part(live, "found").append(item);
  }
  part(live, "heading").hidden = !hits.length;
  say(live, live.dataset.answering);
}

// At most twenty times a second: a model writes faster than a page is drawn. A page that is hidden draws no frames.
function show(live, text) {
  live.dataset.text = text;
  live.drawing ??= setTimeout(() => {
    live.drawing = null;
    const numbers = [...new Set(live.dataset.text.match(MARKER))];
    part(live, "text").textContent = live.dataset.text.replace(MARKER, (marker) => `[${numbers.indexOf(marker) + 1}]`);
  }, 50);
}

// From here on it is the kept answer, as every page shows it.
async function settle(live, answer) {
  const address = asker.dataset.answer.replace(NO_ID, answer.answer_id);
  const isLater = asker.elements.conversation_id.value !== "";
  goOn(answer.conversation_id);
  try {
    const turn = await keptTurn(address);
    if (turn) exchange(live, turn, isLater ? conversationOf(answer.conversation_id) : address);
    else leave(live, answer, answer.warnings.join(" ") || live.dataset.notKept);
  } catch {
    link(live, address, live.dataset.answerLink);
    leave(live, answer, live.dataset.notLoaded);
  }
}

// Nothing where it isn't kept.
async function keptTurn(address) {
  const response = await fetch(address, { headers: { "HX-Request": "true" } });
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${response.status}`);
  return new DOMParser().parseFromString(await response.text(), "text/html").querySelector("article");
}

function exchange(live, turn, address) {
  live.replaceWith(turn);
  htmx.process(turn);
  history.pushState(null, "", address);
  shownPath = location.pathname;
  announce(turn.querySelector(".outcome").textContent);
  if (document.activeElement === document.body) asker.elements.question.focus({ preventScroll: true });
}

function leave(live, answer, message) {
  show(live, answer.text);
  end(live, message);
}

function goOn(conversation) {
  asker.elements.conversation_id.value = conversation;
  asker.elements.question.value = "";
  const label = asker.querySelector("label[for=question]");
  label.textContent = label.dataset.followUp;
}

function conversationOf(conversation) {
  return asker.dataset.conversation.replace(NO_ID, conversation);
}

function stopped(live) {
  const conversation = live.dataset.conversation;
  if (!conversation) return live.dataset.stopped;
  goOn(conversation);
  link(live, conversationOf(conversation), live.dataset.conversationLink);
  return live.dataset.keptPart;
}

function link(live, address, text) {
  const kept = part(live, "kept");
  kept.href = address;
  kept.textContent = text;
  kept.hidden = false;
}

function end(live, message) {
  part(live, "answer").setAttribute("aria-busy", "false");
  live.querySelector("[data-stop]").remove();
  say(live, message);
  part(live, "state").className = "state bad";
  asker.elements.question.focus({ preventScroll: true });
}

function say(live, message) {
  part(live, "state").textContent = message;
  announce(message);
}

function announce(message) {
  document.querySelector("[data-announced]").textContent = message.replace(/\s+/g, " ").trim();
}

function part(live, name) {
  return live.querySelector(`[data-part=${name}]`);
}
