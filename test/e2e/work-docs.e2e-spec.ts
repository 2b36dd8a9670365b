import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { ExampleRunner } from '../support/doc-example.js';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stderr.write('python3 is not installed, so examples/worker.py is not tested\n');

const WORKERS: [string, string, boolean][] = [
  ['worker.js', 'worker-js', true],
  ['worker.py', 'worker-py', hasPython],
];

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

describe.each(WORKERS)('examples/%s', (file, agentId, isInstalled) => {
  it('N-2 has fewer than 60 lines', () => {
    expect(readFileSync(`examples/${file}`, 'utf8').trimEnd().split('\n').length).toBeLessThan(60);
  });

  (isInstalled ? it : it.skip)('N-2 answers a task, registers again on request, and leaves on SIGTERM', async () => {
    const isPython = file.endsWith('.py');
    const worker = isPython ? examples.shell(`python3 ${resolve('examples', file)}`) : examples.program(file);
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
  });
});
