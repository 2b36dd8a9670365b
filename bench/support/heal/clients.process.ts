/** Runs the documented agents and consumers, the unchanged files of examples/, in a separate process. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientsOrder, ClientsReport } from './clients.js';

interface AgentOptions {
  url: string;
  key: string;
  agent: Record<string, unknown>;
  transport: string;
  log(text: string): void;
}

interface ConsumerOptions {
  url: string;
  key: string;
  transport: string;
  onEvents(events: { id: string }[]): void;
  log(text: string): void;
}

interface Examples {
  runAgent(options: AgentOptions): Promise<void>;
  runConsumer(options: ConsumerOptions): Promise<void>;
}

/** Agents start one after the other, as in a real fleet. */
const JOIN_EVERY_MS = 20;
const EXAMPLES = '../../../../examples/';
const load = async (file: string): Promise<Examples> =>
  (await import(new URL(EXAMPLES + file, import.meta.url).href)) as Examples;

/** The ids that each consumer received, in order. */
const received: string[][] = [];
const stopped: string[] = [];
const counts = { registrations: 0, refusals: 0 };

process.on('message', (order: ClientsOrder) => void execute(order));

async function execute(order: ClientsOrder): Promise<void> {
  if ('start' in order) await start(order.start);
  if ('compare' in order) report({ compared: received.map((ids) => differenceOf(ids, order.compare)) });
  if ('status' in order) report({ status: { ...counts, received: received.map(({ length }) => length), stopped } });
}

async function start({
  url,
  key,
  agents,
  consumers,
}: Extract<ClientsOrder, { start: object }>['start']): Promise<void> {
  const [{ runAgent }, { runConsumer }] = await Promise.all([load('agent.js'), load('consumer.js')]);
  for (const { agentId, capability, transport } of agents) {
    const agent = { agentId, name: agentId, capabilities: [capability] };
    watch(agentId, runAgent({ url, key, agent, transport, log: count }));
    await delay(JOIN_EVERY_MS);
  }
  for (const transport of consumers) {
    const ids: string[] = [];
    received.push(ids);
    const onEvents = (events: { id: string }[]): void => void ids.push(...events.map(({ id }) => id));
    watch(transport, runConsumer({ url, key, transport, onEvents, log: () => undefined }));
  }
}

function count(text: string): void {
  if (text.startsWith('registered')) counts.registrations += 1;
  if (text.startsWith('beat failed') || text.startsWith('not registered')) counts.refusals += 1;
}

/** Records clients that end by themselves. No client may do so. */
function watch(name: string, running: Promise<void>): void {
  running.then(
    () => stopped.push(`${name} ended`),
    (error: unknown) => stopped.push(`${name}: ${String(error)}`),
  );
}

/** Returns null when the received events begin with exactly this log. */
function differenceOf(ids: readonly string[], log: readonly string[]): string | null {
  if (ids.length < log.length) return `${ids.length} of ${log.length} events`;
  const index = log.findIndex((id, position) => id !== ids[position]);
  return index === -1 ? null : `event ${index + 1} is ${ids[index]} instead of ${log[index]}`;
}

function report(message: ClientsReport): void {
  process.send?.(message);
}
