import { Injectable } from '@nestjs/common';
import { type Run, type RunDecision, RunsService, type StartRun } from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import type { ContentPart } from '#rollcall/providers';
import { AuditService } from '../audit/audit.service.js';
import type { Principal } from '../auth/principal.js';
import { ApiError } from '../http/problems/api.error.js';
import { IdempotencyService, type KeyedRequest } from '../idempotency/idempotency.service.js';
import { actorOf } from './run.request.js';
import { type RunView, toRunView } from './run.view.js';

/** Who sends a command, and how its repetitions are recognised. */
export interface RunCommand {
  readonly caller: Principal;
  /** Commands with the same key have one effect. */
  readonly once?: KeyedRequest;
  /** What is stored for repetitions: the response of the REST API, or only the id of the run. */
  readonly stores: 'view' | 'id';
}

/** What a command has changed, or what an earlier command with the same key has changed. */
export type CommandResult =
  | { readonly id: string; readonly run: Run; readonly earlier?: undefined }
  | {
      readonly id: string;
      readonly run?: undefined;
      /** The stored response; undefined if only the id is stored. */
      readonly earlier: { readonly view: RunView | undefined };
    };

export interface StartOptions {
  /** Further facts for the audit log. */
  readonly details?: Record<string, unknown>;
  /** Called in the transaction that stores the run. */
  readonly also?: (run: Run) => Promise<void>;
}

/** What a command writes besides its change. */
interface Commit {
  readonly action: string;
  readonly details: Record<string, unknown>;
  /** The audited run, if it is not the changed one. */
  readonly target?: string;
}

/**
 * The commands of all protocols. Each command is one transaction: the change of the run, its audit record and, with a key, the
 * response that repetitions get.
 */
@Injectable()
export class RunCommands {
  constructor(
    private readonly runs: RunsService,
    private readonly idempotency: IdempotencyService,
    private readonly audit: AuditService,
    private readonly db: Database,
  ) {}

  /** `request` rejects an invalid command. A repetition of a valid command gets its stored response even then. */
  async start(
    command: RunCommand,
    request: () => StartRun | Promise<StartRun>,
    { details, also }: StartOptions = {},
  ): Promise<CommandResult> {
    return await this.once(command, async (claim) => {
      const prepared = await this.runs.prepare(await request());
      return await this.db.transaction(async () => {
        const run = await this.runs.insert(prepared, claim);
        await also?.(run);
        const facts = { agentId: run.agentId, budget: run.limit, ...details };
        return await this.record(command, run, { action: 'run.started', details: facts });
      });
    });
  }

  /** Starts a new run with the target, the input and the limits of a finished run. */
  async retry(command: RunCommand, id: string): Promise<CommandResult> {
    return await this.once(command, async (claim) => {
      const prepared = await this.runs.prepareRetry(keyOf(command, id), actorOf(command.caller));
      return await this.db.transaction(async () => {
        const run = await this.runs.insert(prepared, claim);
        const details = { newRunId: run.id, agentId: run.agentId };
        return await this.record(command, run, { action: 'run.retried', details, target: id });
      });
    });
  }

  /** `messageId` is the id that the caller gave to the message. */
  async continue(
    command: RunCommand,
    id: string,
    { parts, messageId }: { parts: readonly ContentPart[]; messageId?: string },
    also?: StartOptions['also'],
  ): Promise<CommandResult> {
    const details = messageId === undefined ? {} : { messageId };
    return await this.change(command, { action: 'run.continued', details }, async () => {
      const run = await this.runs.continue(keyOf(command, id), parts, actorOf(command.caller), messageId);
      await also?.(run);
      return run;
    });
  }

  async decide(
    command: RunCommand,
    id: string,
    decision: RunDecision,
    also?: StartOptions['also'],
  ): Promise<CommandResult> {
    const { callId, inputHash, approved, reason } = decision;
    const details = { callId, inputHash, approved, ...(reason !== undefined && { reason }) };
    return await this.change(command, { action: 'run.decided', details }, async () => {
      const run = await this.runs.approve(keyOf(command, id), decision, actorOf(command.caller));
      await also?.(run);
      return run;
    });
  }

  async cancel(command: RunCommand, id: string): Promise<CommandResult> {
    return await this.change(
      command,
      { action: 'run.cancelled', details: {} },
      async () => await this.runs.cancel(keyOf(command, id), actorOf(command.caller)),
    );
  }

  /** The claim of the key comes first, because a repetition of the command must not wait for the lock of the run. */
  private async change(command: RunCommand, commit: Commit, act: () => Promise<Run>): Promise<CommandResult> {
    return await this.once(
      command,
      async (claim) =>
        await this.db.transaction(async () => {
          await claim?.();
          return await this.record(command, await act(), commit);
        }),
    );
  }

  /** Both statements are sent together with the COMMIT. */
  private async record({ once, stores }: RunCommand, run: Run, { action, details, target }: Commit): Promise<Run> {
    await this.audit.record(action, { id: target ?? run.id, namespace: run.namespace }, details);
    if (once) this.idempotency.save(once, stores === 'view' ? toRunView(run) : run.id);
    return run;
  }

  /**
   * `act` commits the command. It calls the claim in its transaction, which is rolled back if the key was used before. A repetition may
   * also fail before it claims the key, for example because its agent has left: the stored response takes precedence over any error.
   */
  private async once({ once }: RunCommand, act: (claim?: () => Promise<void>) => Promise<Run>): Promise<CommandResult> {
    if (!once) return changed(await act());
    try {
      return changed(await act(async () => await this.idempotency.claim(once)));
    } catch (error) {
      const stored = await this.idempotency.storedFor(once).catch((failure: unknown) => {
        throw failure instanceof ApiError ? failure : error; // the database may be unavailable for both
      });
      if (!stored) throw error;
      return repeated(stored.response as string | RunView);
    }
  }
}

function changed(run: Run): CommandResult {
  return { id: run.id, run };
}

function repeated(response: string | RunView): CommandResult {
  return typeof response === 'string'
    ? { id: response, earlier: { view: undefined } }
    : { id: response.id, earlier: { view: response } };
}

function keyOf({ caller: { namespace } }: RunCommand, id: string): { namespace: string; id: string } {
  return { namespace, id };
}
