import type { Agent } from '#rollcall/providers';
import { answers, FakeAgent } from '../testing/fake.agent.js';
import { aRun } from '../testing/tool-calls.js';
import { MapRunMemory } from '../tools/run.memory.js';
import { ChildRunner } from './child.runner.js';
import { RunRecorder } from './delegation.services.js';
import type { DelegationTarget, DelegationTargets, WantedAgent } from './targets/delegation.targets.js';

const CURRENT = 2;

/** The definition `clerk`, whose agents answer with their revision. */
class Clerks implements DelegationTargets {
  readonly opened: number[] = [];
  readonly closed: number[] = [];
  /** The agent of this revision cannot be closed. */
  unclosable?: number;

  async list(): Promise<never[]> {
    return await Promise.resolve([]);
  }

  async open(wanted: WantedAgent): Promise<DelegationTarget> {
    const revision = ('name' in wanted ? wanted.revision : undefined) ?? CURRENT;
    this.opened.push(revision);
    const agent = new FakeAgent('clerk', () => answers(`revision ${revision}`));
    const close = async (): Promise<void> => {
      this.closed.push(revision);
      if (revision === this.unclosable) throw new Error('cannot be closed');
      await Promise.resolve();
    };
    return await Promise.resolve({ name: 'clerk', agent, definition: { name: 'clerk', revision }, close });
  }
}

class Recorder extends RunRecorder {
  constructor(private readonly revision: number | undefined) {
    super();
  }

  recorded({ agent }: DelegationTarget): Agent {
    return agent;
  }

  async revisionOf(): Promise<number | undefined> {
    return await Promise.resolve(this.revision);
  }
}

const logged: unknown[] = [];

/** Runs a task of `clerk`. The recorder knows the run with this revision. */
async function answerOf(targets: Clerks, started: number | undefined): Promise<string> {
  const runner = new ChildRunner({
    targets,
    recorder: new Recorder(started),
    childTimeoutMs: 60_000,
    now: () => Date.now(),
    log: { error: (entry: { event: string }) => void logged.push(entry.event) },
  });
  const { signal } = new AbortController();
  const context = { run: aRun(), turn: 1, callId: 'c', signal, memory: new MapRunMemory(), progress: () => undefined };
  return JSON.stringify(await runner.run({ wanted: { name: 'clerk' }, task: 'Work.', index: 0 }, context));
}

describe('a delegated run', () => {
  it.each([
    ['the revision that it was started with, if it was interrupted', 1, 'revision 1', [2, 1]],
    ['the current revision, if it is new', undefined, 'revision 2', [2]],
    ['the current revision, if it was started with it', 2, 'revision 2', [2]],
  ])('B6 S2.4 is executed on %s', async (_case, started, answer, opened) => {
    const targets = new Clerks();
    expect(await answerOf(targets, started)).toContain(answer);
    expect([targets.opened, targets.closed]).toEqual([opened, opened]);
  });

  it('B6 S2.4 closes each agent once, even if the agent of the current revision cannot be closed', async () => {
    const targets = new Clerks();
    targets.unclosable = CURRENT;
    expect(await answerOf(targets, 1)).toContain('revision 1');
    expect(targets.closed).toEqual([CURRENT, 1]);
    expect(logged).toEqual(['delegation.internal_error']);
  });
});
