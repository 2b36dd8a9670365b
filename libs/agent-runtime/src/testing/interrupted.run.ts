import { type ModelProvider, type ModelReply, ProviderError, userMessage } from '#rollcall/providers';
import type { LedgerOp, LedgerOutcome } from '#rollcall/registry';
import { ReactAgent } from '../agents/react.agent.js';
import type { LoopStep } from '../loop/loop.step.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import { resume, type RunState } from '../loop/run.state.js';
import { BudgetMiddleware } from '../middleware/budget.middleware.js';
import type { RunCall } from '../middleware/middleware.js';
import { retry } from '../middleware/retry.middleware.js';
import type { OpenAccounts, RunWriter, Spending, SpendingLimit } from '../spending/spending.js';
import { defineTool, toolBox } from '../tools/tool.js';
import { given } from './given.js';
import { MortalReplica, MortalSpending } from './mortal.replica.js';

export interface InterruptedRunOptions {
  readonly runId?: string;
  readonly limit?: SpendingLimit;
  readonly contextWindow?: number;
  /** How many tools the model calls in each turn. After the last turn, it answers. */
  readonly turns: readonly number[];
  /** How many attempts of each turn fail. */
  readonly failures: readonly number[];
  /** Whether the reservations are renewed during each model call, and before each step is added. */
  readonly isRenewed?: boolean;
}

/** Counts the calls in the memory of the run. */
const COUNT = defineTool({
  name: 'count',
  description: 'Counts.',
  idempotent: true,
  execute: (_input, { memory }) => {
    const calls = Number(memory.get('calls') ?? 0) + 1;
    memory.set('calls', calls);
    return `${calls} calls`;
  },
});

interface MortalWriter extends RunWriter {
  add(step: LoopStep): void;
  finish(): Promise<void>;
}

/**
 * A paid run whose replicas die. Each replica continues from the stored steps, as the owner of a durable run does. The model
 * returns the same replies and failures on each replica.
 */
export class InterruptedRun {
  readonly steps: LoopStep[] = [{ type: 'message-received', messages: [userMessage('Hello')] }];
  /** The number of replicas that died. */
  deaths = 0;
  private executions = 0;
  private readonly failed: { tokens: number; replica: MortalReplica; at: number }[] = [];

  constructor(
    private readonly spending: Spending,
    private readonly options: InterruptedRunOptions,
  ) {}

  /** Executes the run on replicas that die at these points, and then on a replica that survives. */
  async execute(deaths: readonly number[]): Promise<RunOutcome> {
    for (const at of deaths) {
      const outcome = await this.live(new MortalReplica(at));
      if (outcome !== 'died') return outcome;
      this.deaths += 1;
    }
    return (await this.live(new MortalReplica(Infinity))) as RunOutcome;
  }

  /** The tokens of all recorded replies, and of all failed attempts that their replica settled before it died. */
  get billed(): number {
    const settled = this.failed.filter(({ replica, at }) => replica.performed > at);
    return (
      settled.reduce((sum, { tokens }) => sum + tokens, 0) + this.steps.reduce((sum, step) => sum + tokensOf(step), 0)
    );
  }

  get state(): RunState {
    return resume(this.steps);
  }

  private async live(replica: MortalReplica): Promise<RunOutcome | 'died'> {
    const { runId = 'run-1', limit, contextWindow } = this.options;
    const spending = new MortalSpending(this.spending, replica);
    const writer = this.writerOn(replica, spending.accounts);
    const budget = new BudgetMiddleware({ spending, limit });
    const agent = new ReactAgent({
      name: 'ada',
      description: '',
      instructions: '',
      model: this.modelOn(replica, spending.accounts),
      options: { maxIterations: 30, contextWindow },
      runMiddleware: [budget.run],
      modelMiddleware: [retry({ random: () => 0 }), budget.model],
    });
    agent.addToolBoxes(toolBox('test', [COUNT]));
    const call = given.runCall({ context: given.context({ runId }), state: this.state, writer });
    return await Promise.race([this.read(agent, call, writer, spending.accounts), replica.died]);
  }

  private async read(
    agent: ReactAgent,
    call: RunCall,
    writer: MortalWriter,
    accounts: OpenAccounts,
  ): Promise<RunOutcome> {
    const events = agent.run(call);
    for (;;) {
      const next = await events.next();
      if (next.done) {
        await writer.finish();
        return next.value;
      }
      if (next.value.type !== 'step') continue;
      await this.renew(accounts);
      writer.add(next.value.step);
    }
  }

  private async renew(accounts: OpenAccounts): Promise<void> {
    if (this.options.isRenewed) for (const account of accounts.all) await account.keep();
  }

  /** Stores steps and applies operations together, as the journal of a durable run does. */
  private writerOn(replica: MortalReplica, accounts: OpenAccounts): MortalWriter {
    let [added, closing]: [LoopStep[], readonly LedgerOp[]] = [[], []];
    const write = async (ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]> => {
      const steps = added;
      added = [];
      if (steps.length === 0 && ops.length === 0) return [];
      return await replica.perform(async () => {
        this.steps.push(...steps);
        const outcomes = await this.spending.apply(ops);
        accounts.note(outcomes);
        return outcomes;
      });
    };
    return {
      execution: `${(this.executions += 1)}`,
      add: (step) => void added.push(JSON.parse(JSON.stringify(step)) as LoopStep),
      commit: async (ops = []) => await write(ops),
      close: async (ops) => void (closing = ops),
      finish: async () => void (await write(closing)),
    };
  }

  private modelOn(replica: MortalReplica, accounts: OpenAccounts): ModelProvider {
    const attempts = new Map<number, number>();
    return {
      vendor: 'test',
      model: 'pure',
      complete: async () => {
        const { turn } = this.state;
        const attempt = (attempts.get(turn) ?? 0) + 1;
        attempts.set(turn, attempt);
        await this.renew(accounts);
        return await replica.perform(async () => this.reply(replica, turn, attempt));
      },
      stream: () => {
        throw new Error('not used');
      },
    };
  }

  private reply(replica: MortalReplica, turn: number, attempt: number): ModelReply {
    const { turns, failures } = this.options;
    const usage = { inputTokens: 40 + turn, outputTokens: 10 * attempt };
    if (attempt <= (failures[turn] ?? 0)) {
      const tokens = usage.inputTokens + usage.outputTokens;
      this.failed.push({ tokens, replica, at: replica.performed + 1 });
      throw new ProviderError('MODEL_STREAM_BROKEN', 'broken', { usage, retryable: true });
    }
    const replies = this.steps.filter(({ type }) => type === 'model-replied').length;
    const calls = Array.from({ length: turns[replies] ?? 0 }, (_, index) => ({
      type: 'tool-call' as const,
      id: `call-${index}`,
      name: 'count',
      input: {},
    }));
    if (calls.length > 0) return { content: calls, finish: 'tool-calls', usage };
    return { content: [{ type: 'text', text: 'done' }], finish: 'stop', usage };
  }
}

function tokensOf(step: LoopStep): number {
  if (step.type !== 'model-replied' && step.type !== 'context-summarised') return 0;
  const { inputTokens = NaN, outputTokens = NaN } = step.type === 'model-replied' ? step.reply.usage : step.usage;
  return inputTokens + outputTokens;
}
