/**
 * A fake subprocess agent that executes the scenario in the text of its message (see agent-scenario.ts). It records
 * started and ended calls in the file that is its argument, because standard output is used for the protocol.
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const journal = process.argv[2];
const record = (what, id) => appendFileSync(journal, `${JSON.stringify({ what, id, pid: process.pid })}\n`);
const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const stubborn = new Set();
const LONG = 'x'.repeat(60_000);

if (process.env.STUBBORN) {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1_000);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.type === 'message') begin(message, JSON.parse(message.text));
  if (message.type === 'cancel' && !stubborn.has(message.id)) {
    record('end', message.id);
    write({ id: message.id, type: 'error', message: 'cancelled' });
  }
});

function begin({ id, parts, context }, scenario) {
  record('begin', id);
  for (const text of scenario.pieces ?? []) write({ id, type: 'text', text });
  if (scenario.does === 'crash') process.exitCode = 3;
  if (scenario.does === 'crash') return process.stderr.write('out of luck', () => process.exit());
  if (scenario.does === 'flood')
    return flood(process.stdout, () => `${JSON.stringify({ id, type: 'text', text: LONG })}\n`);
  if (scenario.does === 'never end a line') return flood(process.stdout, () => LONG);
  if (scenario.does === 'flood stderr')
    return process.stderr.write(`${LONG.repeat(500)} the end`, () => process.exit(1));
  if (scenario.does === 'babble') return process.stdout.write('Hello, I am not JSON\n');
  if (scenario.does === 'ignore cancel') return stubborn.add(id);
  if (scenario.does === 'call a tool') write({ id, type: 'tool-call', name: 'search', input: { q: 'x' } });
  if (scenario.does === 'have a child') return write({ id, type: 'progress', text: `${haveChild()}` });
  if (scenario.does === 'show environment') write({ id, type: 'result', text: JSON.stringify(process.env) });
  if (scenario.does === 'answer') write({ id, type: 'result', usage: scenario.usage });
  if (scenario.does === 'echo') write({ id, type: 'result', parts: parts.slice(1) });
  for (const artifact of scenario.chunks ?? []) write({ id, type: 'artifact', artifact });
  if (scenario.does === 'produce') write({ id, type: 'result' });
  if (scenario.does === 'show context') write({ id, type: 'result', data: context });
  if (scenario.does === 'refuse') write({ ...resultOf(scenario), id, outcome: 'refused', text: scenario.message });
  if (scenario.does === 'stop') write({ ...resultOf(scenario), id, outcome: 'stopped' });
  if (scenario.does === 'fail') write({ id, type: 'error', message: scenario.message });
  if (scenario.does !== 'hang') record('end', id);
}

function resultOf({ reason, detail, usage }) {
  return { type: 'result', reason, detail, usage };
}

/** Writes without end, as fast as the output is read, and reads no input meanwhile. */
function flood(stream, next) {
  process.stdin.pause();
  const go = () => {
    while (stream.write(next()));
    stream.once('drain', go);
  };
  go();
}

function haveChild() {
  const script = process.env.STUBBORN ? 'trap "" TERM; sleep 600' : 'sleep 600';
  return spawn('sh', ['-c', script], { stdio: 'ignore' }).pid;
}
