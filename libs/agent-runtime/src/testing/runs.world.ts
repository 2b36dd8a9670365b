import type { Database } from '#rollcall/platform';
import { readAll, testDatabase, type TestDatabase } from '#rollcall/platform/testing';
import type { ModelRequest } from '#rollcall/providers';
import { callTool, callTools, hangAfter, say, using } from '#rollcall/providers/testing';
import type { Run, RunExport } from '../runs/run.js';
import type { StoredStep } from '../runs/run.step.js';
import type { RunsOptions } from '../runs/runs.options.js';
import { defineTool, type Tool } from '../tools/tool.js';
import { TestAgents, type TestRuns, testRuns } from './test-runs.js';

/** The usage of each model call. */
export const USED = { inputTokens: 10, outputTokens: 5 };
export const TOKENS = 15;

type Script = (request: ModelRequest) => ReturnType<typeof say>;

/** Replicas that execute runs on one database, and agents whose tools end when the test opens the gate. */
export class RunsWorld {
  readonly agents = new TestAgents();
  readonly executed: string[] = [];
  readonly gate = Promise.withResolvers<void>();
  private readonly replicas = new Set<TestRuns>();

  private constructor(readonly database: TestDatabase) {
    this.define('looker', 'look', 'look', 'done');
    this.define('payer', 'pay', 'done');
    this.define('thinker', 'look', 'hang', 'done');
    this.define('boss', 'delegate looker', 'done');
    this.define('manager', 'delegate payer', 'done');
    this.define('asker', 'ask', 'done');
  }

  /** Defines an agent whose model makes these steps. */
  define(name: string, ...steps: string[]): void {
    const tools = [this.tool('look', true), this.tool('pay', false)];
    this.agents.defined.set(name, { script: script(steps), tools, options: { mayAsk: name === 'asker' } });
  }

  /** Defines an agent whose model makes these calls at once. Each needs an approval. */
  defineApprovals(name: string, ...callIds: string[]): void {
    const spend = this.tool('spend', false);
    const calls = callIds.map((id): [string, unknown, string] => ['spend', {}, id]);
    this.agents.defined.set(name, {
      script: ({ messages }) =>
        using(USED, messages.some(({ role }) => role === 'assistant') ? say('done') : callTools(...calls)),
      tools: [{ ...spend, needsApproval: true }],
    });
  }

  static async create(): Promise<RunsWorld> {
    return new RunsWorld(await testDatabase());
  }

  async end(): Promise<void> {
    this.gate.resolve();
    await Promise.all([...this.replicas].map(async (one) => await one.stop()));
    await this.database.drop();
  }

  async replica(options: Partial<RunsOptions> = {}, db?: Database): Promise<TestRuns> {
    const made = await testRuns(db ?? (await this.database.connectAgain()), this.agents, {
      leaseMs: 60_000,
      ...options,
    });
    this.replicas.add(made);
    made.start();
    return made;
  }

  async stop(replica: TestRuns): Promise<void> {
    this.replicas.delete(replica);
    await replica.stop();
  }

  /** Ends all leases, as if the replicas did not work any more. */
  async endLeases(): Promise<void> {
    const past = `clock_timestamp() - interval '1 second'`;
    await this.database.db.query(`UPDATE run SET lease_until = ${past} WHERE lease_token IS NOT NULL`);
  }

  private tool(name: string, idempotent: boolean): Tool {
    const execute = async (): Promise<string> => {
      this.executed.push(name);
      await this.gate.promise;
      return 'worked';
    };
    return defineTool({ name, description: 'Works.', idempotent, execute });
  }
}

/** The model makes one of these steps in each reply, in order. The step `hang` hangs only the first time. */
function script(steps: readonly string[]): Script {
  let hasHung = false;
  return ({ messages }) => {
    const at = messages.filter(({ role }) => role === 'assistant').length;
    const [step = 'done', target] = (steps[at] ?? 'done').split(' ');
    if (step === 'done') return using(USED, say('done'));
    if (step === 'ask') return using(USED, callTool('ask_caller', { question: 'Which one?' }, `c${at}`));
    if (step === 'delegate')
      return using(USED, callTool('delegate_to_agent', { agent: target, task: 'Do it.' }, `c${at}`));
    if (step !== 'hang') return using(USED, callTool(step, {}, `c${at}`));
    if (hasHung) return using(USED, say('woke up'));
    hasHung = true;
    return hangAfter('hm');
  };
}

export const keyOf = ({ id }: Pick<Run, 'id'>): { namespace: string; id: string } => ({ namespace: 'default', id });

/** Returns the run as soon as it is finished or waits. */
export async function ended(on: TestRuns, run: Run): Promise<Run> {
  return await on.reader.wait(keyOf(run), { waitMs: 20_000 });
}

/** The types of the steps, which are numbered without a gap. */
export async function stepsOf(on: TestRuns, run: Run): Promise<string[]> {
  const steps = await on.reader.steps(keyOf(run), 0, 100);
  expect(steps.map(({ seq }) => seq)).toEqual(steps.map((_, index) => index + 1));
  return steps.map(({ step }) => step.type);
}

export async function budgetOf(on: TestRuns, { id }: Run): Promise<{ used: number; held: number }> {
  const [reading] = await on.budgets.of('run', id);
  return { used: reading?.budget.used.tokens ?? -1, held: reading?.budget.reserved.tokens ?? -1 };
}

/** The tokens of the whole tree: according to the usage of its runs, and to the ledger. */
export async function chargesOf(on: TestRuns, { id: rootId }: Run): Promise<{ usage: number; ledger: number }> {
  const runs = await on.reader.list({ namespace: 'default', rootId }, 100);
  const usage = runs.map(({ usage: { inputTokens = 0, outputTokens = 0, estimatedTokens = 0 } }) => {
    return inputTokens + outputTokens + estimatedTokens;
  });
  const { subtree } = await on.reader.tree({ namespace: 'default', id: rootId });
  return { usage: usage.reduce((sum, tokens) => sum + tokens, 0), ledger: subtree.tokens };
}

/** The types of the events of runs, in order. */
export async function typesOf(on: TestRuns): Promise<string[]> {
  return (await readAll(on.events)).filter(({ type }) => type.startsWith('run.')).map(({ type }) => type);
}

/** An export with all its steps and delegated runs. */
export interface WholeExport {
  readonly run: Run;
  readonly steps: readonly StoredStep[];
  readonly children: readonly WholeExport[];
}

export async function wholeExport(on: TestRuns, run: Run): Promise<WholeExport> {
  return await read(await on.reader.export(keyOf(run)));
}

async function read({ run, steps, children }: RunExport): Promise<WholeExport> {
  const all: StoredStep[] = [];
  for await (const page of steps()) all.push(...page);
  const below: WholeExport[] = [];
  for await (const child of children()) below.push(await read(child));
  return { run, steps: all, children: below };
}
