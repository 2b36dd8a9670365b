import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { until } from '#rollcall/registry/testing';
import { startApi, type TestApi } from '../support/api.js';
import { joined, left, tell } from '../support/events.js';

const PAGE = readFileSync(resolve(import.meta.dirname, '../../docs/events.md'), 'utf8');

let api: TestApi;
let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  api = await startApi();
  folder = mkdtempSync(join(tmpdir(), 'rollcall-docs-'));
});
afterAll(async () => {
  for (const child of children) child.kill();
  await api.stop();
  rmSync(folder, { recursive: true });
});

function example(language: string): string {
  const code = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1];
  if (code === undefined) throw new Error(`docs/events.md has no example in ${language}`);
  return code;
}

/** What the consumer prints, as it does. */
function run(program: string, flags: string[]): () => string {
  let output = '';
  const env = { PATH: process.env['PATH'] ?? '', ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey };
  const child = spawn(program, flags, { env });
  children.push(child);
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  return () => output;
}

describe('the consumers of docs/events.md', () => {
  it('B3 print the events that were and those that come', async () => {
    const script = join(folder, 'consumer.mjs');
    writeFileSync(script, example('js'));
    expect(example('js').trim().split('\n').length).toBeLessThanOrEqual(17);
    await tell(api, joined('early'));
    const node = run(process.execPath, [script]);
    const curl = run('sh', ['-c', `exec ${example('sh').trim()}`]);
    await until('node has the first', () => node() === '1 agent.joined early\n');
    await until('curl has the first', () => curl().includes('id: 1\nevent: agent.joined\n'));
    await tell(api, left('early'));
    await until('node has the second', () => node() === '1 agent.joined early\n2 agent.left early\n');
    await until('curl has the second', () => curl().includes('id: 2\nevent: agent.left\n'));
    expect(curl()).toContain('"type":"agent.left","subject":"early"');
  });
});
