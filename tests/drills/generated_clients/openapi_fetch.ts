// openapi-fetch with the types of openapi-typescript: `openapi_fetch.js URL WORKSPACE TOKEN`.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const [baseUrl, ws, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const path = { ws };
const texts = {
  "leave.md": "# Leave\n\nAnnual leave is thirty days.\n",
  "sick.md": "# Sick leave\n\nSick leave needs a note of a doctor.\n",
};

for (const [name, text] of Object.entries(texts)) {
  const body = { path: name, text };
  let job = (await client.POST("/api/v1/workspaces/{ws}/documents", { params: { path }, body })).data!.job;
  while (job.state === "queued" || job.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const params = { path: { ws, job_id: job.id } };
    job = (await client.GET("/api/v1/workspaces/{ws}/jobs/{job_id}", { params })).data!;
  }
  console.log(job.path, job.state);
}
const search = "/api/v1/workspaces/{ws}/search";
let page = (await client.POST(search, { params: { path }, body: { q: "leave", k: 1 } })).data!;
for (;;) {
  for (const hit of page.hits) console.log("hit", hit.rank, hit.citation.uri);
  if (page.next_cursor === null) break;
  page = (await client.POST(search, { params: { path }, body: { cursor: page.next_cursor } })).data!;
}
const question = "How many days of annual leave?";
const answer = (await client.POST("/api/v1/workspaces/{ws}/ask", { params: { path }, body: { question } })).data!;
console.log(answer.state, answer.text, answer.citations[0].uri);
