import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { format } from 'prettier';
import { startApi, type TestApi } from '../support/api.js';
import { type FlowAnswers, RunFlows } from '../support/run-flows.js';
import { TranscriptRecorder, type Transcript } from '../support/transcript.js';

const FOLDER = resolve(import.meta.dirname, '../fixtures/transcripts');
/** Set it to write the files again. Then read their difference: each changed line must have a reason. */
const IS_UPDATE = process.env['UPDATE_TRANSCRIPTS'] === '1';

let api: TestApi;
let flows: RunFlows;
beforeEach(async () => {
  api = await startApi(RunFlows.SETTINGS); // each transcript contains all rows of a new database
  flows = await RunFlows.prepare(api);
});
afterEach(async () => {
  await flows.stop();
  await api.stop();
});

async function record(flow: () => Promise<FlowAnswers>): Promise<Transcript> {
  const recorder = await TranscriptRecorder.start(api);
  return await recorder.end(await flow());
}

async function expectStored(name: string, transcript: Transcript): Promise<void> {
  const path = resolve(FOLDER, `${name}.json`);
  if (IS_UPDATE) writeFileSync(path, await format(JSON.stringify(transcript), { parser: 'json', printWidth: 120 }));
  if (!existsSync(path)) throw new Error(`${path} does not exist. Run this suite with UPDATE_TRANSCRIPTS=1.`);
  expect(JSON.parse(JSON.stringify(transcript))).toEqual(JSON.parse(readFileSync(path, 'utf8')));
}

describe('what a run writes and answers is as in test/fixtures/transcripts', () => {
  it('R-1 a run with one model call', async () => {
    await expectStored('one-model-call', await record(async () => await flows.oneModelCall()));
  });

  it('R-1 a run with one tool call and two model calls', async () => {
    await expectStored('one-tool-call', await record(async () => await flows.oneToolCall()));
  });

  it('R-1 a run with one tool call, limited by its own budget and by the budget of the namespace', async () => {
    await api.given.budget({ limit: { tokens: 1_000_000 } });
    await expectStored('limited-tool-call', await record(async () => await flows.limitedToolCall()));
  });

  it('R-1 a run that delegates to a definition', async () => {
    await expectStored('delegated-run', await record(async () => await flows.delegatedRun()));
  });

  it('R-1 an A2A message to an external agent', async () => {
    await expectStored('external-agent', await record(async () => await flows.externalAgent()));
  });
});
