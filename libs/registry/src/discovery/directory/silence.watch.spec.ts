import * as fc from 'fast-check';
import { given } from '../../testing/given.js';
import { Directory } from './directory.js';

const START = Date.parse('2026-02-24T10:00:00Z');
const SILENT_AFTER_MS = 20_000;
const IDS = ['a', 'b', 'c', 'd'];

const agentId = fc.constantFrom(...IDS);
const step = fc.oneof(
  fc.record({ kind: fc.constant('beat'), agentId }),
  fc.record({
    kind: fc.constant('list'),
    agentId,
    suspect: fc.boolean(),
    capability: fc.constantFrom('build', 'plan'),
  }),
  fc.record({ kind: fc.constant('remove'), agentId }),
  fc.record({ kind: fc.constant('wait'), ms: fc.integer({ min: 1, max: 30_000 }) }),
  fc.record({ kind: fc.constant('setBack'), ms: fc.integer({ min: 1, max: 60_000 }) }),
);

/** The last heartbeat and the mark in Postgres of each listed agent. */
type Model = Map<string, { beatAt: number; suspect: boolean }>;

const silentIn = (model: Model, now: number): string[] =>
  [...model].filter(([, one]) => one.suspect || one.beatAt + SILENT_AFTER_MS <= now).map(([id]) => id);

describe('the silent agents of a directory', () => {
  it('B14 the silent agents are those without a recent heartbeat and those that are marked as suspect, after any changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const directory = new Directory({ silentAfterMs: SILENT_AFTER_MS });
        const model: Model = new Map();
        let [now, revision] = [START, 1];
        for (const one of steps) {
          revision += 1;
          if (one.kind === 'wait' && 'ms' in one) now += one.ms;
          if (one.kind === 'setBack' && 'ms' in one) {
            now -= one.ms;
            directory.stepBack(now);
            for (const known of model.values()) known.beatAt = Math.min(known.beatAt, now);
          }
          if (one.kind === 'beat' && 'agentId' in one) {
            directory.beat(one.agentId, { generation: 1, beatAt: now }, now);
            const known = model.get(one.agentId);
            if (known) known.beatAt = now;
          }
          if (one.kind === 'list' && 'capability' in one) {
            const { suspect, capability } = one;
            const lastHeartbeat = new Date(now).toISOString();
            const health = { ...given.entry({ suspect }).record.health, lastHeartbeat };
            directory.upsert(given.entry({ agentId: one.agentId, revision, health, capabilities: [capability] }), now);
            model.set(one.agentId, { beatAt: now, suspect });
          }
          if (one.kind === 'remove' && 'agentId' in one) {
            directory.remove(one.agentId, { generation: 1, revision }, now);
            model.delete(one.agentId);
          }
          expect(directory.silentAt(now).toSorted()).toEqual(silentIn(model, now).toSorted());
        }
      }),
    );
  });

  it('B14 a heartbeat does not remove the mark of Postgres; a newer record does, also if its capabilities have changed', () => {
    const directory = new Directory({ silentAfterMs: SILENT_AFTER_MS });
    const now = START + 5_000;
    directory.upsert(given.entry({ agentId: 'a', suspect: true, revision: 2 }), now);
    directory.beat('a', { generation: 1, beatAt: now }, now);
    expect(directory.silentAt(now)).toEqual(['a']);
    directory.upsert(given.entry({ agentId: 'a', suspect: true, revision: 3, capabilities: ['plan'] }), now);
    expect(directory.silentAt(now)).toEqual(['a']);
    directory.upsert(given.entry({ agentId: 'a', revision: 4 }), now);
    expect(directory.silentAt(now)).toEqual([]);
    expect(directory.silentAt(now + SILENT_AFTER_MS)).toEqual(['a']);
  });
});
