import { CLOSED_CIRCUIT } from '../../circuit/circuit.breaker.js';
import { given } from '../../testing/given.js';
import { Directory, Tombstones } from './directory.js';
import { Ranker } from '../ranking/ranker.js';
import type { Ranking } from '../ranking/ranking.js';
import { Timeline } from './timeline.js';

const NOW = Date.parse('2026-02-24T10:30:00Z');
const OPEN = { ...CLOSED_CIRCUIT, phase: 'open' as const, consecutiveFailures: 5, openUntil: NOW + 4_000 };

function answer(ranker: Ranker, now = NOW, capabilities: string[] = ['build']): Ranking {
  return JSON.parse(ranker.rankJson(ranker.plan({ capabilities: { any: capabilities } }), now)) as Ranking;
}
const ids = ({ candidates }: Ranking): string[] => candidates.map(({ agent }) => agent.agentId);

describe('the directory', () => {
  it('B4 never replaces a newer write with an older one, and compares generations before revisions', () => {
    const directory = new Directory();
    expect(directory.upsert(given.entry({ generation: 2, revision: 1, name: 'new' }), NOW)).toBe(true);
    expect(directory.upsert(given.entry({ generation: 1, revision: 9, name: 'old' }), NOW)).toBe(false);
    expect(directory.upsert(given.entry({ generation: 2, revision: 1, name: 'twice' }), NOW)).toBe(false);
    expect(directory.find('agent')?.record.name).toBe('new');
  });

  it('S3.3 ignores a write that is older than the removal of the agent', () => {
    const directory = new Directory();
    directory.upsert(given.entry({ revision: 1 }), NOW);
    expect(directory.remove('agent', { generation: 1, revision: 3 }, NOW)).toBe(true);
    expect(directory.upsert(given.entry({ revision: 2 }), NOW)).toBe(false);
    expect(directory.upsert(given.entry({ revision: 3 }), NOW)).toBe(false);
    expect(directory.size).toBe(0);
    expect(directory.upsert(given.entry({ generation: 2, revision: 1 }), NOW)).toBe(true);
  });

  it('S3.3 ignores a removal that is older than the last registration', () => {
    const directory = new Directory();
    directory.upsert(given.entry({ generation: 2 }), NOW);
    expect(directory.remove('agent', { generation: 1, revision: 50 }, NOW)).toBe(false);
    expect(directory.size).toBe(1);
  });

  it('S3.3 keeps a removal that arrives before the registration that it ends', () => {
    const directory = new Directory();
    expect(directory.remove('agent', { generation: 1, revision: 2 }, NOW)).toBe(false);
    expect(directory.upsert(given.entry({ revision: 1 }), NOW)).toBe(false);
  });

  it('S3.4 ignores a heartbeat of an unlisted agent, of another generation or older than the last one', () => {
    const directory = new Directory();
    const vitals = { generation: 1, beatAt: NOW };
    expect(directory.beat('agent', vitals, NOW)).toBe(false);
    directory.upsert(given.entry({ generation: 2 }), NOW);
    expect(directory.beat('agent', vitals, NOW)).toBe(false);
    expect(directory.beat('agent', { ...vitals, generation: 2 }, NOW)).toBe(true);
    expect(directory.beat('agent', { ...vitals, generation: 2, beatAt: NOW - 1 }, NOW)).toBe(false);
  });

  it('S3.12 returns the agents with a label, in the order of their ids, with their current state', () => {
    const directory = new Directory();
    const labels = { visibility: 'public' };
    for (const agentId of ['b', 'a']) directory.upsert(given.entry({ agentId, labels }), NOW);
    directory.upsert(given.entry({ agentId: 'c', labels, circuit: OPEN }), NOW);
    directory.upsert(given.entry({ agentId: 'd', labels: { visibility: 'internal' } }), NOW);
    const found = (now: number): unknown[] =>
      directory.labelled('visibility', 'public', now).map(({ agentId, routable }) => [agentId, routable]);
    expect(found(NOW)).toEqual([
      ['a', true],
      ['b', true],
      ['c', false],
    ]);
    expect(found(NOW + 4_000)).toContainEqual(['c', true]);
    expect(directory.labelled('toString', 'public', NOW)).toEqual([]);
  });

  it('S3.4 shows an agent as suspect when a write reports it, and as active after a heartbeat', () => {
    const directory = new Directory();
    const ranker = new Ranker(directory);
    const status = (now: number): string => answer(ranker, now).candidates[0].agent.status;
    directory.upsert(given.entry(), NOW);
    expect(status(NOW + 9)).toBe('active');
    directory.upsert(given.entry({ revision: 2, suspect: true }), NOW + 10);
    expect(status(NOW + 10)).toBe('suspect');
    directory.beat('agent', { generation: 1, beatAt: NOW + 11 }, NOW + 11);
    expect(status(NOW + 20)).toBe('active');
    const health = { ...given.entry({ suspect: true }).record.health, lastHeartbeat: new Date(NOW + 11).toISOString() };
    directory.upsert(given.entry({ revision: 3, health }), NOW + 21);
    expect(status(NOW + 21)).toBe('suspect');
  });

  it('S3.8 ranks an agent again when its cool-down and its flap damping end', () => {
    const directory = new Directory();
    const ranker = new Ranker(directory);
    directory.upsert(given.entry({ agentId: 'a' }), NOW);
    directory.upsert(given.entry({ agentId: 'b', circuit: OPEN }), NOW);
    directory.upsert(given.entry({ agentId: 'c', circuit: OPEN, dampedUntil: NOW + 6_000 }), NOW);
    expect(ids(answer(ranker, NOW + 3_999))).toEqual(['a']);
    expect(ids(answer(ranker, NOW + 4_000))).toEqual(['a', 'b']);
    expect(ids(answer(ranker, NOW + 6_000))).toEqual(['a', 'b', 'c']);
  });

  it('B5 the time of the directory does not go back when the clock does', () => {
    const directory = new Directory();
    expect(directory.advance(NOW)).toBe(NOW);
    expect(directory.advance(NOW - 60_000)).toBe(NOW);
  });

  it('S3.6 finds the agents of a capability that was unclaimed for a while', () => {
    const directory = new Directory();
    const ranker = new Ranker(directory);
    directory.upsert(given.entry({ agentId: 'a' }), NOW);
    directory.upsert(given.entry({ agentId: 'b', capabilities: ['plan'], desiredState: 'draining' }), NOW);
    for (let times = 0; times < 2; times += 1) expect(ids(answer(ranker, NOW, ['build', 'plan']))).toEqual(['a']);
    directory.remove('b', { generation: 1, revision: 1 }, NOW);
    directory.upsert(given.entry({ agentId: 'c', capabilities: ['plan'] }), NOW);
    expect(ids(answer(ranker, NOW, ['build', 'plan']))).toEqual(['a', 'c']);
  });

  it('S3.6 applies a snapshot without losing newer local writes', () => {
    const directory = new Directory();
    for (const agentId of ['gone', 'stays']) directory.upsert(given.entry({ agentId }), NOW);
    const mark = directory.mark();
    directory.upsert(given.entry({ agentId: 'own' }), NOW);
    directory.remove('left', { generation: 1, revision: 5 }, NOW);
    const snapshot = [
      given.entry({ agentId: 'stays' }),
      given.entry({ agentId: 'other' }),
      given.entry({ agentId: 'left' }),
    ];
    directory.replaceAll(snapshot, mark, NOW);
    const listed = ['gone', 'stays', 'own', 'other', 'left'].filter((agentId) => directory.find(agentId));
    expect(listed).toEqual(['stays', 'own', 'other']);
  });

  it('S3.1 omits agent cards from rankings, because cards may be large', () => {
    const directory = new Directory();
    directory.upsert(given.entry({ agentCard: { big: 'x' } }), NOW);
    expect(answer(new Ranker(directory)).candidates[0].agent).not.toHaveProperty('agentCard');
  });
});

describe('tombstones', () => {
  it('drops tombstones after the retention time, oldest first', () => {
    const tombstones = new Tombstones(1_000);
    tombstones.put('a', { generation: 1, revision: 1 }, 0);
    tombstones.put('b', { generation: 1, revision: 1 }, 500);
    tombstones.put('a', { generation: 1, revision: 2 }, 900);
    tombstones.put('c', { generation: 1, revision: 1 }, 1_500);
    expect(tombstones.size).toBe(2);
    expect(tombstones.covers('b', { generation: 1, revision: 1 })).toBe(false);
    expect(tombstones.covers('a', { generation: 1, revision: 2 })).toBe(true);
  });

  it('a tombstone keeps the newest revision', () => {
    const tombstones = new Tombstones(1_000);
    tombstones.put('a', { generation: 2, revision: 1 }, 0);
    tombstones.put('a', { generation: 1, revision: 9 }, 1);
    expect(tombstones.covers('a', { generation: 1, revision: 99 })).toBe(true);
  });
});

describe('the timeline', () => {
  it('returns all due items, earliest first', () => {
    const timeline = new Timeline<number>();
    const moments = Array.from({ length: 200 }, (_, at) => (at * 7_919) % 1_009);
    for (const at of moments) timeline.add(at, at);
    const due = [...timeline.takeAll(500)];
    expect(due).toEqual(moments.filter((at) => at <= 500).toSorted((a, b) => a - b));
    expect(timeline.size).toBe(200 - due.length);
    expect(timeline.nextAt).toBe(Math.min(...moments.filter((at) => at > 500)));
    expect(new Timeline().nextAt).toBe(Infinity);
  });
});
