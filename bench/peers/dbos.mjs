import { DBOS } from '@dbos-inc/dbos-sdk';
import { z } from 'zod';
import { ANSWER, CALLS, inputOf, INSTRUCTIONS, QUESTION, serveSide, TOOL } from '../../dist/bench/support/loop.side.js';

process.noDeprecation = true; // DBOS uses pg in a way that pg 9 will no longer support

const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

async function model(messages) {
  const call = (messages.length - 2) / 2;
  if (call === CALLS) return { role: 'assistant', text: ANSWER };
  return { role: 'call', id: `call-${call}`, name: TOOL.name, input: inputOf(call) };
}

/** The tool of the measurement in progress. Workflows must be registered before the launch, so it is not an argument of theirs. */
let forecast;

/** Each model call and each tool call is a step: 21 steps with ten tool calls. */
async function runWithTools(question) {
  const messages = [
    { role: 'system', text: INSTRUCTIONS },
    { role: 'user', text: question },
  ];
  for (;;) {
    const reply = await DBOS.runStep(() => model(messages), { name: 'model' });
    if (reply.role === 'assistant') return reply.text;
    const text = await DBOS.runStep(async () => await forecast(Input.parse(reply.input)), { name: TOOL.name });
    messages.push(reply, { role: 'result', id: reply.id, text });
  }
}

/** One model call, which is one step. */
async function runWithoutTools() {
  const reply = await DBOS.runStep(async () => ({ role: 'assistant', text: ANSWER }), { name: 'model' });
  return reply.text;
}

const withTools = DBOS.registerWorkflow(runWithTools, { name: 'withTools' });
const withoutTools = DBOS.registerWorkflow(runWithoutTools, { name: 'withoutTools' });

const { BENCH_DATABASE_URL: systemDatabaseUrl, BENCH_POOL_SIZE = '20' } = process.env;
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl,
  systemDatabasePoolSize: Number(BENCH_POOL_SIZE),
  applicationVersion: '1',
  logLevel: 'error',
});
await DBOS.launch();

/** The promise of a workflow is resolved after its result is stored. */
await serveSide(
  (tool, calls) => {
    forecast = tool;
    const workflow = calls === 0 ? withoutTools : withTools;
    return async () => await workflow(QUESTION);
  },
  [CALLS, 0],
);
if (!process.send) await DBOS.shutdown();
