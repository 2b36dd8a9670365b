import type { Session } from '../command.js';
import { ContextFile } from '../connection/context.file.js';
import { EXIT, type ExitCode, describeFailure } from '../failure.js';

export interface Check {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
}

const MIN_NODE = 24;
const MAX_CLOCK_DIFFERENCE_MS = 5_000;

/** Runs all checks. The exit code is that of the first failure. */
export async function checks(session: Session): Promise<{ results: Check[]; exitCode: ExitCode }> {
  const results: Check[] = [];
  let exitCode: ExitCode = EXIT.done;
  const steps: [
    name: string,
    check: (session: Session) => Promise<string | [warning: string]> | string | [warning: string],
  ][] = [
    ['node', nodeVersion],
    ['contexts', contexts],
    ['address', ({ connection }) => `${connection.url} (from ${connection.urlFrom})`],
    ['server', reachable],
    ['database', ready],
    ['key', key],
    ['clock', clock],
    ['models', models],
  ];
  for (const [check, read] of steps) {
    try {
      const detail = await read(session);
      results.push(
        typeof detail === 'string' ? { check, status: 'ok', detail } : { check, status: 'warn', detail: detail[0] },
      );
    } catch (thrown) {
      const failure = describeFailure(thrown);
      results.push({ check, status: 'fail', detail: failure.error.message });
      if (exitCode === EXIT.done) exitCode = failure.exitCode;
      if (failure.error.code === 'SERVER_UNREACHABLE' || failure.exitCode === EXIT.notAllowed) break; // the later checks would fail, too
    }
  }
  return { results, exitCode };
}

function nodeVersion(): string | [string] {
  const { node } = process.versions;
  return Number.parseInt(node, 10) >= MIN_NODE
    ? `version ${node}`
    : [`version ${node}; the server needs ${MIN_NODE} or newer`];
}

function contexts({ io }: Session): string {
  const file = new ContextFile(io);
  const { current, contexts: known } = file.read();
  return `${Object.keys(known).length} in ${file.path}${current === undefined ? '' : `, current: ${current}`}`;
}

async function reachable({ client }: Session): Promise<string> {
  const startedAt = performance.now();
  await (await client()).health.live();
  return `responds in ${Math.round(performance.now() - startedAt)} ms`;
}

async function ready({ client }: Session): Promise<string> {
  const { status, details } = await (await client()).health.ready();
  return `${status} (${Object.keys(details).join(', ')})`;
}

async function key({ client, connection }: Session): Promise<string> {
  const { name, roles, namespace } = await (await client()).me.get();
  return `${name}: ${roles.join(', ')} in ${namespace} (from ${connection.keyFrom})`;
}

/** Deadlines and expiries are compared with the clock of the server. */
async function clock({ connection, io }: Session): Promise<string | [string]> {
  const sentAt = Date.now();
  const response = await fetch(`${connection.url}/health/live`, { signal: io.signal });
  await response.body?.cancel();
  const date = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(date)) return ['the server sends no date'];
  const middle = (sentAt + Date.now()) / 2;
  const difference = Math.max(0, Math.abs(date + 500 - middle) - 500);
  const seconds = `${(difference / 1_000).toFixed(1)} s`;
  return difference <= MAX_CLOCK_DIFFERENCE_MS
    ? `differs by less than ${Math.ceil(difference / 1_000) || 1} s`
    : [`differs by ${seconds} from the server`];
}

async function models({ client }: Session): Promise<string | [string]> {
  const answer: unknown = await (await client()).models.list();
  const text = JSON.stringify(answer);
  return text.includes('scripted') && !/"vendor":"(?!scripted)/.test(text)
    ? ['only the scripted demo model; see docs/providers.md']
    : 'configured';
}
