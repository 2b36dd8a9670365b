import { setTimeout as delay } from 'node:timers/promises';
import type { EventName, FollowedEvent, Rollcall } from '#rollcall/client';
import { CommandError, describeFailure } from '../failure.js';
import type { DemoFleet } from './demo.processes.js';
import type { EventRecord } from './event.record.js';
import type { SeededRandom } from './random.js';

/** A part of the story. Scenes of one track follow each other; the tracks run at the same time. */
export interface Scene {
  /** When it begins, in seconds from the beginning of the loop. */
  readonly at: number;
  readonly title: string;
  /** What to look at while it happens. */
  readonly look: string;
  play(): Promise<void>;
}

export interface Stage {
  /** Follows the replica that is never killed. */
  readonly rollcall: Rollcall;
  /** A client of the replica that is killed. */
  readonly second: Rollcall;
  /** A client of another namespace, or of all. */
  readonly within: (namespace: string) => Rollcall;
  readonly secondPort: string;
  readonly fleet: DemoFleet;
  readonly events: EventRecord;
  readonly random: SeededRandom;
}

const CLOCK = {
  description: 'Reads the clock.',
  instructions: 'Read the clock as often as the user says.',
  tools: ['clock'],
};

export const DEFINITIONS = {
  clerk: CLOCK,
  'careful-clerk': {
    ...CLOCK,
    description: 'Reads the clock after an approval.',
    approve: { clock: 'operator' as const },
  },
  lead: {
    description: 'Delegates to other agents.',
    instructions: 'Delegate what the user says.',
    subagents: ['clerk'],
  },
};

/** The agents: capabilities, declared price of a task, and the time that a task takes. */
export const DEMO_AGENTS: Readonly<
  Record<string, { capabilities: string; price: string; workMs: string; confirms?: string }>
> = {
  'builder-1': { capabilities: 'build', price: '0.02', workMs: '900' },
  'builder-2': { capabilities: 'build', price: '0.03', workMs: '500' },
  'builder-3': { capabilities: 'build,test', price: '0.05', workMs: '300' },
  'tester-1': { capabilities: 'test', price: '0.01', workMs: '400' },
  'tester-2': { capabilities: 'test', price: '0.02', workMs: '400' },
  'writer-1': { capabilities: 'write', price: '0.04', workMs: '700' },
  'writer-2': { capabilities: 'write,translate', price: '0.06', workMs: '600' },
  'reviewer-1': { capabilities: 'review', price: '0.03', workMs: '800' },
  'reviewer-2': { capabilities: 'review', price: '0.02', workMs: '900' },
  'painter-1': { capabilities: 'paint', price: '0.01', workMs: '500', confirms: 'no' },
  'painter-2': { capabilities: 'paint', price: '0.02', workMs: '500' },
  'deployer-1': { capabilities: 'deploy', price: '0.10', workMs: '1200' },
};

/** It keeps one event: the registry deletes the contents of older ones. */
const ARCHIVE = 'archive';
const MANY = ['builder-2', 'builder-3', 'writer-2', 'reviewer-1', 'reviewer-2'] as const;
const PRODUCTS = ['the release', 'the landing page', 'the parser', 'the invoices'] as const;

/** What happens in one loop of the demo. The same random numbers give the same story. */
export class DemoStory {
  constructor(
    private readonly stage: Stage,
    private readonly loop: number,
  ) {}

  get tracks(): readonly (readonly Scene[])[] {
    const { random } = this.stage;
    const product = random.pick(PRODUCTS);
    return [
      [
        scene(0, `Agents build ${product}`, 'rollcall runs list --watch', async () => await this.agentsWork(product)),
        scene(
          20,
          'A clerk is asked, and a lead delegates',
          'rollcall runs list -o wide',
          async () => await this.delegate(random.between(2, 4)),
        ),
        scene(
          45,
          'A run waits for an approval, and another one is cancelled',
          'rollcall runs list --state waiting',
          async () => await this.approve(),
        ),
        scene(
          120,
          'A replica is killed, and its run continues on the other one',
          'rollcall runs list --state running',
          async () => await this.kill(),
        ),
      ],
      [
        scene(
          140,
          'The namespace archive keeps one event, and older ones expire',
          'rollcall events tail -n "*" --after oldest --types event.*',
          async () => await this.archive(),
        ),
      ],
      [
        scene(
          10,
          'tester-1 is late, and recovers',
          'rollcall agents list --watch',
          async () => await this.late('tester-1'),
        ),
        scene(
          25,
          'tester-2 falls silent and is evicted',
          'rollcall events tail --types agent.*',
          async () => await this.silent('tester-2'),
        ),
        scene(
          150,
          'Too many agents are silent at once, so nobody is evicted',
          'rollcall api GET /v1/registry/protection',
          async () => await this.protect(),
        ),
      ],
      [
        scene(
          15,
          'The circuit of builder-1 opens, and heals',
          'rollcall agents query build --explain',
          async () => await this.circuit('builder-1'),
        ),
        scene(
          60,
          'The budget of writer-1 runs low, is exhausted, and is topped up',
          'rollcall budgets list --kind agent',
          async () => await this.budget('writer-1', random.between(80, 90)),
        ),
        scene(
          85,
          'A definition is written, changed and removed',
          'rollcall definitions list',
          async () => await this.definitions(),
        ),
        scene(
          95,
          'An operator drains, quarantines and resumes deployer-1',
          'rollcall agents get deployer-1',
          async () => await this.operate('deployer-1'),
        ),
        scene(
          105,
          'Painters bid for a contract; the cheapest forgets to confirm',
          'rollcall contracts list',
          async () => await this.auction(product),
        ),
        scene(
          130,
          'A contract expires without bidders, and one is cancelled',
          'rollcall contracts list --state expired,cancelled',
          async () => await this.noAuction(),
        ),
        scene(
          140,
          'The clock of the database is set back, and no lease is lost',
          'rollcall events tail -n "*" --types registry.*',
          async () => await this.setClockBack(),
        ),
      ],
    ];
  }

  private async agentsWork(product: string): Promise<void> {
    const { rollcall, events } = this.stage;
    const position = events.position;
    const ids: string[] = [];
    for (const capability of ['build', 'test', 'write', 'review', 'deploy']) {
      const { id } = await rollcall.runs.start({ capabilities: [capability], input: `${capability} ${product}` });
      ids.push(id);
    }
    for (const id of ids) await this.completed(id, position);
  }

  private async delegate(times: number): Promise<void> {
    const { runs } = this.stage.rollcall;
    const input = `Read the clock ${times} times.`;
    await runs.run({ definition: 'clerk', input }).result();
    const { id } = await runs.run({ definition: 'lead', input: `Ask clerk: ${input}` }).result();
    const { children } = await runs.getTree(id);
    if (children.length !== 1) throw new CommandError('DEMO_FAILED', `The lead has delegated ${children.length} runs.`);
  }

  private async approve(): Promise<void> {
    const { runs } = this.stage.rollcall;
    const position = this.stage.events.position;
    const start = { definition: 'careful-clerk', input: 'Read the clock 1 time.' };
    const { id, result } = await runs.run(start).result();
    for (const { callId, inputHash } of result?.approvals ?? [])
      await runs.decide(id, { callId, inputHash, approved: true });
    await this.completed(id, position);
    const other = await runs.run(start).result();
    await this.after('run.cancelled', async () => await runs.cancel(other.id), other.id);
  }

  private async kill(): Promise<void> {
    const { second, fleet, secondPort, events } = this.stage;
    const after = events.position;
    const { id } = await second.runs.start({ definition: 'clerk', input: 'Read the clock 12 times.' });
    await events.until('run.started', id, after);
    await fleet.killReplica('replica-2');
    await this.completed(id, after);
    await fleet.startReplica('replica-2', secondPort);
  }

  private async late(agent: string): Promise<void> {
    await this.after('agent.suspect', async () => await this.send('SIGSTOP', [agent]), agent);
    await this.after('agent.recovered', async () => await this.send('SIGCONT', [agent]), agent);
  }

  private async silent(agent: string): Promise<void> {
    await this.after('agent.left', async () => await this.send('SIGSTOP', [agent]), agent);
    await this.after('agent.joined', async () => await this.send('SIGCONT', [agent]), agent);
  }

  private async protect(): Promise<void> {
    await this.after('protection.entered', async () => await this.send('SIGSTOP', MANY));
    await this.after('protection.left', async () => await this.send('SIGCONT', MANY));
  }

  private async circuit(agent: string): Promise<void> {
    const { agents } = this.stage.rollcall;
    await this.after(
      'circuit.opened',
      async () => {
        for (let failures = 0; failures < 5; failures += 1) await agents.reportOutcome(agent, { ok: false });
      },
      agent,
    );
    const probeId = `demo-${this.loop}`;
    while (!(await agents.claimProbe(agent, { probeId })).claimed) await delay(500);
    await this.after('circuit.closed', async () => await agents.reportOutcome(agent, { ok: true, probeId }), agent);
  }

  private async budget(agent: string, percent: number): Promise<void> {
    const { budgets } = this.stage.rollcall;
    const limit = { tokens: 10_000 };
    const { items } = await budgets.list({ kind: 'agent', subject: agent }).page();
    const { id } = items[0] ?? (await budgets.open({ kind: 'agent', subject: agent, limit }));
    await budgets.adjust(id, { limit, used: { tokens: 0, microUsd: 0 }, note: 'a new loop of the demo' });
    await this.after('budget.low', async () => await this.spend(agent, percent * 100), id);
    await this.after('budget.exhausted', async () => await this.spend(agent, 10_000 - percent * 100), id);
    await this.after(
      'budget.replenished',
      async () => await budgets.topUp(id, { tokens: 40_000, note: 'rollcall demo' }),
      id,
    );
  }

  private async spend(agentId: string, tokens: number): Promise<void> {
    const { budgets } = this.stage.rollcall;
    const { key } = await budgets.reserve({ key: crypto.randomUUID(), agentId, tokens });
    await budgets.settle(key, { tokens });
  }

  private async definitions(): Promise<void> {
    const { definitions } = this.stage.rollcall;
    const name = `draft-${this.loop}`;
    await this.after('definition.registered', async () => await definitions.register({ name, content: CLOCK }), name);
    const content = { ...CLOCK, instructions: 'Read the clock once.' };
    await this.after('definition.replaced', async () => await definitions.replace(name, { content }), name);
    await this.after('definition.unregistered', async () => await definitions.unregister(name), name);
  }

  private async archive(): Promise<void> {
    const { rollcall, within } = this.stage;
    if (this.loop === 1 && !(await exists(rollcall.namespaces.get(ARCHIVE))))
      await rollcall.namespaces.create({ name: ARCHIVE, description: 'rollcall demo', limits: { eventsKept: 1 } });
    const { definitions } = within(ARCHIVE);
    const register = async (word: string): Promise<FollowedEvent> => {
      const name = `${word}-${this.loop}`;
      const cause = async (): Promise<unknown> => await definitions.register({ name, content: CLOCK });
      return await this.after('definition.registered', cause, name);
    };
    const oldest = await register('one');
    await register('two');
    await this.stage.events.untilExpired(within('*'), oldest); // only consumers of all namespaces see what has expired
  }

  private async setClockBack(): Promise<void> {
    await this.after('registry.clock_stepped_back', async () => await this.stage.fleet.setClockBack());
  }

  private async operate(agent: string): Promise<void> {
    const { agents } = this.stage.rollcall;
    const note = 'rollcall demo';
    await this.after(
      'agent.updated',
      async () => await agents.update(agent, { labels: { team: 'demo', loop: String(this.loop) } }),
      agent,
    );
    await this.after('agent.draining', async () => await agents.drain(agent, { note }), agent);
    await this.after('agent.quarantined', async () => await agents.quarantine(agent, { note }), agent);
    await this.after('agent.resumed', async () => await agents.resume(agent, { note }), agent);
  }

  private async auction(product: string): Promise<void> {
    const { contracts } = this.stage.rollcall;
    const after = this.stage.events.position;
    const { id } = await contracts.announce({
      task: `Paint ${product}`,
      capabilities: ['paint'],
      bidWithinMs: 3_000,
      confirmWithinMs: 1_000,
    });
    await this.stage.events.until('contract.lapsed', id, after);
    await this.stage.events.until('contract.confirmed', id, after);
    await this.after(
      'contract.completed',
      async () => await contracts.reportOutcome(id, { ok: true, tokens: 900, microUsd: 20_000, ms: 4_000 }),
      id,
    );
  }

  private async noAuction(): Promise<void> {
    const { contracts } = this.stage.rollcall;
    const position = this.stage.events.position;
    const { id } = await contracts.announce({ task: 'Fly to the moon', capabilities: ['fly'], bidWithinMs: 1_000 });
    await this.stage.events.until('contract.expired', id, position);
    const other = await contracts.announce({ task: 'Paint it black', capabilities: ['paint'], bidWithinMs: 60_000 });
    await this.stage.events.until('contract.answered', other.id, position);
    await this.after('contract.cancelled', async () => await contracts.cancel(other.id), other.id);
  }

  private async send(signal: NodeJS.Signals, names: readonly string[]): Promise<void> {
    for (const name of names) this.stage.fleet.agents.get(name)?.signal(signal);
    return await Promise.resolve();
  }

  private async completed(id: string, after: number): Promise<void> {
    const { type, data } = await this.stage.events.until('run.finished', id, after);
    if (type !== 'dev.rollcall.run.finished' || data.state !== 'completed')
      throw new CommandError('DEMO_FAILED', `The run ${id} has not completed.`);
  }

  /** Does something, and waits for its event. */
  private async after(type: EventName, cause: () => Promise<unknown>, subject?: string): Promise<FollowedEvent> {
    const { events } = this.stage;
    const position = events.position;
    await cause();
    return await events.until(type, subject, position);
  }
}

/** Whether this object exists. */
export async function exists(found: Promise<unknown>): Promise<boolean> {
  try {
    await found;
    return true;
  } catch (error) {
    if (describeFailure(error).error.status === 404) return false;
    throw error;
  }
}

function scene(at: number, title: string, look: string, play: () => Promise<void>): Scene {
  return { at, title, look, play };
}
