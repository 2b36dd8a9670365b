import { DatabaseBusyError, DatabaseUnavailableError } from '#rollcall/platform';
import { CLOSED_CIRCUIT } from './circuit.breaker.js';
import type { OutcomeReport, ReportResult } from './outcome.js';
import { OutcomeQueue } from './outcome.queue.js';

const STORED: ReportResult = { state: 'stored', circuit: CLOSED_CIRCUIT, now: 0 };
const rejected = (error: Error): ReportResult => ({ state: 'rejected', error });

let recorded: string[];
let lost: string[];
let fails: (agentId: string) => Error | undefined;
let queue: OutcomeQueue;

beforeEach(() => {
  recorded = [];
  lost = [];
  fails = () => undefined;
  queue = new OutcomeQueue(commit, 5);
});

async function commit(batch: readonly OutcomeReport[]): Promise<ReportResult[]> {
  await Promise.resolve();
  return batch.map(({ agentId }) => {
    const error = fails(agentId);
    if (!error) recorded.push(agentId);
    return error ? rejected(error) : STORED;
  });
}

function add(...agentIds: string[]): void {
  const reporter = { id: 'key:ada', name: 'ada' };
  for (const agentId of agentIds)
    queue.add({ agentId, outcome: { ok: true }, reporter }, ({ message }) => lost.push(`${agentId}: ${message}`));
}

describe('the queue of outcomes', () => {
  it('R-5 records the outcomes in the order in which they were reported, including those that arrive during the pass', async () => {
    add('a', 'b');
    const pass = queue.record();
    add('c');
    await Promise.all([pass, queue.record()]);
    expect([recorded, queue.size]).toEqual([['a', 'b', 'c'], 0]);
  });

  it.each([new DatabaseUnavailableError('no connection'), new DatabaseBusyError('locked')])(
    'R-5 keeps the outcomes and their order while the error is %s',
    async (error) => {
      fails = () => error;
      add('a', 'b');
      await queue.record();
      add('c');
      await queue.record();
      expect([recorded, queue.size]).toEqual([[], 3]);
      fails = () => undefined;
      await queue.record();
      expect([recorded, lost, queue.size]).toEqual([['a', 'b', 'c'], [], 0]);
    },
  );

  it('R-5 loses only the outcome that can never be recorded', async () => {
    fails = (agentId) => (agentId === 'b' ? new Error('invalid') : undefined);
    add('a', 'b', 'c');
    await queue.record();
    expect([recorded, lost, queue.size]).toEqual([['a', 'c'], ['b: invalid'], 0]);
  });

  it('R-5 drops the oldest outcomes if more than the maximum wait, and reports each', async () => {
    fails = () => new DatabaseUnavailableError('no connection');
    add('a', 'b', 'c', 'd');
    const pass = queue.record();
    add('e', 'f', 'g');
    await pass;
    const dropped = 'More than 5 outcomes wait for the database, so the oldest was dropped.';
    expect([lost, queue.size]).toEqual([[`a: ${dropped}`, `b: ${dropped}`], 5]);
    fails = () => undefined;
    await queue.record();
    expect(recorded).toEqual(['c', 'd', 'e', 'f', 'g']);
  });

  it('R-5 reports the outcomes that are still waiting when the replica stops', async () => {
    fails = () => new DatabaseUnavailableError('no connection');
    add('a');
    await queue.record();
    queue.abandon();
    expect([lost, queue.size]).toEqual([['a: The replica stopped before the database was available again.'], 0]);
  });
});
