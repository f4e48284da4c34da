// The TypeScript client of openapi-generator: `typescript_fetch.js URL WORKSPACE TOKEN`.
import { AskApi, Configuration, DocumentsApi, JobsApi, SearchApi } from "./generated/index.js";

const [basePath, ws, accessToken] = process.argv.slice(2);
const configuration = new Configuration({ basePath, accessToken });
const [documents, jobs] = [new DocumentsApi(configuration), new JobsApi(configuration)];
const [search, ask] = [new SearchApi(configuration), new AskApi(configuration)];
const texts = {
  "leave.md": "# Leave\n\nAnnual leave is thirty days.\n",
  "sick.md": "# Sick leave\n\nSick leave needs a note of a doctor.\n",
};

for (const [name, text] of Object.entries(texts)) {
  let { job } = await documents.documentFilePost({ ws, file: new File([text], name) });
  while (job.state === "queued" || job.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, 200));
    job = await jobs.oneJobGet({ ws, jobId: job.id });
  }
  console.log(job.path, job.state);
}
let page = await search.searchPost({ ws, searchBodyRequest: { q: "leave", k: 1 } });
for (;;) {
  for (const hit of page.hits) console.log("hit", hit.rank, hit.citation.uri);
  if (page.nextCursor === null) break;
  page = await search.searchPost({ ws, searchBodyRequest: { cursor: page.nextCursor } });
}
const answer = await ask.askPost({ ws, askBodyRequest: { question: "How many days of annual leave?" } });
console.log(answer.state, answer.text, answer.citations[0].uri);
