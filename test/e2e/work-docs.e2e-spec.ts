import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { ExampleRunner, NODES } from '../support/doc-example.js';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stderr.write('python3 is not installed, so examples/worker.py is not tested\n');

/** Each with an interpreter that executes it. */
const WORKERS: [file: string, interpreter: string][] = [
  ...NODES.map((node): [string, string] => ['worker.js', node]),
  ...(hasPython ? [['worker.py', 'python3'] as [string, string]] : []),
];
/** The programs that docs/agents-work.md links. call-tokens.e2e-spec.ts executes those with an endpoint. */
const LINKED = readFileSync('docs/agents-work.md', 'utf8').matchAll(/\]\(\.\.\/examples\/([\w./-]+)\)/g);

let api: TestApi;
let examples: ExampleRunner;
beforeAll(async () => {
  api = await startApi();
  examples = new ExampleRunner({ ROLLCALL_URL: api.url, ROLLCALL_KEY: await api.given.key('agent') });
});
afterAll(async () => {
  examples.stop();
  await api.stop();
});

async function answerOf(agent: string, input: string): Promise<unknown> {
  const { body } = await api.call('POST', '/v1/runs?waitMs=30000', { body: { agent, input } });
  return body;
}

describe('the examples of docs/agents-work.md', () => {
  it('N-2 each has fewer than 60 lines', () => {
    const files = [...new Set(Array.from(LINKED, ([, file = '']) => file))].toSorted();
    expect(files).toEqual(['a2a-agent.js', 'http-agent.js', 'verify-call.js', 'worker.js', 'worker.py']);
    const linesOf = (file: string): number => readFileSync(`examples/${file}`, 'utf8').trimEnd().split('\n').length;
    expect(files.filter((file) => linesOf(file) >= 60)).toEqual([]);
  });

  it.each(WORKERS)(
    'N-2 %s answers a task, registers again on request, and leaves on SIGTERM: %s',
    async (file, interpreter) => {
      const agentId = `worker-${WORKERS.findIndex((row) => row[0] === file && row[1] === interpreter)}`;
      const worker = examples.program(file, { AGENT_ID: agentId }, interpreter);
      const printed = async (text: string): Promise<void> =>
        await until(`the example prints ${text}`, () => worker.output().includes(text)).catch((error: unknown) => {
          throw new Error(`${String(error)}\n${worker.output()}`);
        });
      await printed(`registered as ${agentId}, generation 1\n`);
      expect(await answerOf(agentId, 'hello')).toMatchObject({
        state: 'completed',
        result: { parts: [{ type: 'text', text: 'HELLO' }] },
        usage: { inputTokens: 5, outputTokens: 5 },
      });
      await api.call('POST', `/v1/agents/${agentId}/evict`);
      await printed(`registered as ${agentId}, generation 2\n`);
      await until('the directory contains it', async () => {
        return (await api.call('GET', `/v1/agents/${agentId}`)).body['generation'] === 2;
      });
      expect(await answerOf(agentId, 'again')).toMatchObject({
        state: 'completed',
        result: { parts: [{ text: 'AGAIN' }] },
      });
      worker.child.kill('SIGTERM');
      await until('it has left', async () => {
        return (await api.call('GET', `/v1/agents/${agentId}`)).body['leaveReason'] === 'shutdown';
      });
    },
  );
});
