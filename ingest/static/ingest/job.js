// Follows a job by its events; once it has ended the page is loaded again, with the report.
const AGAIN_MS = 3000;
const followed = document.querySelector("[data-job-events]");

function place(name) {
  return followed.querySelector(`[data-job="${name}"]`);
}

function duration(seconds) {
  if (seconds === null) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function show(job) {
  const texts = {
    state: job.cancel_requested ? `${job.state}, being cancelled` : job.state,
    done: job.items_done.toLocaleString("en"),
    total: job.items_total.toLocaleString("en"),
    chunks: job.chunks_done.toLocaleString("en"),
    rate: job.items_per_s === null ? "–" : job.items_per_s.toFixed(1),
    eta: duration(job.eta_s),
    current: job.current_path.slice(0, 200),
    error: job.error ?? "",
  };
  for (const [name, text] of Object.entries(texts)) {
    if (place(name).textContent !== text) place(name).textContent = text;
  }
  place("error").hidden = !job.error;
  if (job.items_total) {
    place("bar").max = job.items_total;
    place("bar").value = job.items_done;
  }
}

// Loads the page again as soon as the server answers: what the stream told in the meantime is lost.
async function loadAgain() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    const answer = await fetch(location.href, { method: "HEAD" }).catch(() => null);
    if (answer && answer.status < 500 && answer.status !== 429) return location.reload();
  }
}

if (followed) {
  const events = new EventSource(followed.dataset.jobEvents);
  events.addEventListener("progress", (event) => show(JSON.parse(event.data)));
  events.addEventListener("end", () => {
    events.close();
    location.reload();
  });
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) loadAgain(); // else it is opened again by itself
  });
  addEventListener("pagehide", () => events.close());
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}
