import { Injectable } from '@nestjs/common';
import {
  aborted,
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type AgentResult,
  type CallContext,
  type HandleOptions,
  ProviderError,
} from '#rollcall/providers';
import { RunFinishedError } from '../runs/run.errors.js';
import type { Run, RunKey } from '../runs/run.js';
import { RunReader } from '../runs/observe/run.reader.js';
import { isFinalOrWaiting } from '../runs/run.status.js';
import { RunsService } from '../runs/runs.service.js';
import { LedgerSpending } from '../spending/ledger.spending.js';
import { reportedUsage } from './run.cost.js';

const ACTOR = { by: 'system:runtime', mayManage: true };
const WAIT_MS = 30_000;

type Call = HandleOptions & { readonly context: CallContext };

/** Calls agents that another replica hosts. Each call is a run, which that replica executes. */
@Injectable()
export class RemoteAgents {
  constructor(
    private readonly runs: RunsService,
    private readonly reader: RunReader,
    private readonly spending: LedgerSpending,
  ) {}

  /** Returns an agent whose calls need a context. The budget of the run in the context pays for the new run. */
  agent(name: string): Agent {
    return {
      name,
      agentType: 'in-process',
      state: 'idle',
      handle: (message, options = {}) => this.handle(name, message, options),
      shutdown: async () => await Promise.resolve(),
    };
  }

  private async *handle(name: string, message: AgentMessage, options: HandleOptions): AsyncGenerator<AgentEvent> {
    const { context, signal } = options;
    if (!context) throw new Error('a call to an agent on another replica needs a context');
    const started = await this.start(name, message, { ...options, context });
    let result: AgentResult | undefined;
    try {
      const run = await this.ended(started, signal);
      if (signal?.aborted) throw aborted(`The call to agent ${name}`);
      result = await this.resultOf(run);
      yield { type: 'finished', result };
    } finally {
      if (!result) await this.cancel(started);
    }
  }

  private async start(agent: string, { parts: input }: AgentMessage, { context, budget }: Call): Promise<Run> {
    const { namespace, runId, parentRunId = null, callerId: by = ACTOR.by, deadline } = context;
    const limit = { tokens: budget?.tokens ?? null, microUsd: budget?.microUsd ?? null };
    await this.spending.openRun({ namespace, runId, parentRunId, limit });
    const request = { namespace, target: { agent }, input, limit, by, paidBy: runId };
    return await this.runs.start(deadline === null ? request : { ...request, deadline });
  }

  /** Resolves when the run is finished or waits for an answer, or when the signal is aborted. */
  private async ended(started: Run, signal: AbortSignal | undefined): Promise<Run> {
    for (let known = started; ;) {
      known = await this.reader.wait(started, { waitMs: WAIT_MS, known, ...(signal && { signal }) });
      if (isFinalOrWaiting(known.state) || signal?.aborted) return known;
    }
  }

  /** A run that waits for an answer is cancelled, because its caller is an agent and cannot answer. */
  private async resultOf({ namespace, id, state, waitingFor, result }: Run): Promise<AgentResult> {
    const { parts = [], reason, detail = '', error } = result ?? {};
    if (state === 'waiting') await this.cancel({ namespace, id });
    const usage = reportedUsage(await this.reader.tree({ namespace, id }));
    if (state === 'completed' || state === 'refused') return { outcome: state, parts, usage };
    if (error) throw new ProviderError('AGENT_FAILED', error.message);
    return { outcome: 'stopped', reason: reason ?? waitingFor ?? state, detail, parts, usage };
  }

  private async cancel(key: RunKey): Promise<void> {
    await this.runs.cancel(key, ACTOR).catch((error: unknown) => {
      if (!(error instanceof RunFinishedError)) throw error;
    });
  }
}
