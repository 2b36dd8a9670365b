import { Injectable } from '@nestjs/common';
import {
  type NewMessage,
  type Run,
  type RunActor,
  type RunDecision,
  type RunKey,
  RunsService,
  type StartRun,
  type VisibleRuns,
} from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import { type ContentPart, message } from '#rollcall/providers';
import { AuditService } from '../audit/audit.service.js';
import type { Principal } from '../auth/principal.js';
import { ApiError } from '../http/problems/api.error.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { StorageRate } from '../limits/storage.rate.js';
import { IdempotencyService, type KeyedRequest } from '../idempotency/idempotency.service.js';
import { type RunView, toRunView } from './run.view.js';
import type { InputFileBody, MessageBody, StartRunBody } from './runs.dto.js';

/** Who sends a command, and how its repetitions are recognised. */
export interface RunCommand {
  readonly caller: Principal;
  /** Commands with the same key have one effect. */
  readonly once?: KeyedRequest;
  /** What is stored for repetitions: the response of the REST API, or only the id of the run. */
  readonly stores: 'view' | 'id';
}

/** What a command has changed, or what an earlier command with the same key has changed. */
export type RunCommandResult =
  | { readonly id: string; readonly run: Run; readonly earlier?: undefined }
  | {
      readonly id: string;
      readonly run?: undefined;
      /** The stored response; undefined if only the id is stored. */
      readonly earlier: { readonly view: RunView | undefined };
    };

export interface RunStartOptions {
  /** Further facts for the audit log. */
  readonly details?: Record<string, unknown>;
  /** Called in the transaction that stores the run. */
  readonly also?: (run: Run) => Promise<void>;
}

/** One execution of a command. */
interface Attempt {
  /** Claims the key of the command in the open transaction; undefined without a key. */
  readonly claim: (() => Promise<void>) | undefined;
  /** Counts what the command stores for its caller, unless the execution fails. */
  readonly count: (contents: unknown) => void;
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
    private readonly storage: StorageRate,
  ) {}

  /** `request` rejects an invalid command. A repetition of a valid command gets its stored response even then. */
  async start(
    command: RunCommand,
    request: () => StartRun | Promise<StartRun>,
    { details, also }: RunStartOptions = {},
  ): Promise<RunCommandResult> {
    return await this.once(command, async ({ claim, count }) => {
      const wanted = await request();
      count(wanted.input);
      const prepared = await this.runs.prepare(wanted);
      const { id, namespace, agentId, limit: budget } = prepared.run;
      const facts = { agentId, budget, ...details };
      if (!claim && !also)
        return await this.runs.startPrepared(prepared, [this.audit.statement('run.started', { id, namespace }, facts)]);
      return await this.runs.transactionFor(prepared, async () => {
        const run = await this.runs.insert(prepared, claim);
        await also?.(run);
        return await this.record(command, run, { action: 'run.started', details: facts });
      });
    });
  }

  /** Starts a new run with the target, the input and the limits of a finished run. */
  async retry(command: RunCommand, id: string): Promise<RunCommandResult> {
    return await this.once(command, async ({ claim, count }) => {
      const prepared = await this.runs.prepareRetry(runKeyOf(command.caller, id), runActorOf(command.caller));
      count(prepared.run.input);
      return await this.runs.transactionFor(prepared, async () => {
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
    next: NewMessage,
    also?: RunStartOptions['also'],
  ): Promise<RunCommandResult> {
    const { messageId } = next;
    const details = messageId === undefined ? {} : { messageId };
    return await this.change(command, { action: 'run.continued', details }, async (count) => {
      count(next.parts);
      const run = await this.runs.continue(runKeyOf(command.caller, id), next, runActorOf(command.caller));
      await also?.(run);
      return run;
    });
  }

  async decide(
    command: RunCommand,
    id: string,
    decision: RunDecision,
    also?: RunStartOptions['also'],
  ): Promise<RunCommandResult> {
    const { callId, inputHash, approved, reason } = decision;
    const details = { callId, inputHash, approved, ...(reason !== undefined && { reason }) };
    return await this.change(command, { action: 'run.decided', details }, async (count) => {
      count(decision);
      const run = await this.runs.approve(runKeyOf(command.caller, id), decision, runActorOf(command.caller));
      await also?.(run);
      return run;
    });
  }

  async cancel(command: RunCommand, id: string): Promise<RunCommandResult> {
    return await this.change(
      command,
      { action: 'run.cancelled', details: {} },
      async () => await this.runs.cancel(runKeyOf(command.caller, id), runActorOf(command.caller)),
    );
  }

  /** The claim of the key comes first, because a repetition of the command must not wait for the lock of the run. */
  private async change(
    command: RunCommand,
    commit: Commit,
    act: (count: Attempt['count']) => Promise<Run>,
  ): Promise<RunCommandResult> {
    return await this.once(
      command,
      async ({ claim, count }) =>
        await this.db.transaction(async () => {
          await claim?.();
          return await this.record(command, await act(count), commit);
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
  private async once({ caller, once }: RunCommand, act: (attempt: Attempt) => Promise<Run>): Promise<RunCommandResult> {
    let bytes = 0;
    const count = (contents: unknown): void => void (bytes += this.storage.take(caller, contents));
    const claim = once && (async (): Promise<void> => await this.idempotency.claim(once));
    try {
      return changed(await act({ claim, count }));
    } catch (error) {
      this.storage.giveBack(caller, bytes);
      if (!once) throw error;
      const stored = await this.idempotency.storedFor(once).catch((failure: unknown) => {
        throw failure instanceof ApiError ? failure : error; // the database may be unavailable for both
      });
      if (!stored) throw error;
      return repeated(stored.response as string | RunView);
    }
  }
}

function changed(run: Run): RunCommandResult {
  return { id: run.id, run };
}

function repeated(response: string | RunView): RunCommandResult {
  return typeof response === 'string'
    ? { id: response, earlier: { view: undefined } }
    : { id: response.id, earlier: { view: response } };
}

/** Rejects a body that names more than one target, or `prefer` without `capabilities`. */
export function toStartRun(body: StartRunBody, { namespace, owner: by }: Principal): StartRun {
  const { agent, definition, capabilities, prefer, budget, deadline } = body;
  const { redactAfterMs, conversationId } = body;
  const named = Object.entries({ agent, definition, capabilities }).filter(([, value]) => value !== undefined);
  if (named.length > 1) {
    const text = `${named.map(([field]) => field).join(', ')}: name only one of them`;
    throw validationFailed([{ field: named[1]?.[0] ?? 'agent', message: text }]);
  }
  if (prefer !== undefined && capabilities === undefined)
    throw validationFailed([{ field: 'prefer', message: 'prefer needs capabilities' }]);
  return {
    namespace,
    target: { agent, definition, capabilities, prefer },
    input: partsOf(body),
    ...(budget && { limit: { tokens: budget.tokens ?? null, microUsd: budget.microUsd ?? null } }),
    ...(deadline !== undefined && { deadline: Date.parse(deadline) }),
    ...(redactAfterMs !== undefined && { redactAfterMs }),
    ...(conversationId !== undefined && { conversationId }),
    by,
  };
}

/** The parts of a message. Files are put into the workspace of the run, if it has one. */
export function partsOf({ input, data, files = [] }: MessageBody): ContentPart[] {
  return [...message(input, data).parts, ...files.map(toFilePart)];
}

function toFilePart({ path, content, encoding = 'utf8', mediaType = 'text/plain' }: InputFileBody): ContentPart {
  const bytes = Buffer.from(content, encoding).toString('base64');
  return { type: 'file', name: path, path, mediaType, bytes };
}

export function runActorOf({ owner: by, permissions }: Principal): RunActor {
  return { by, mayManage: permissions.includes('runs:manage') };
}

/**
 * The only rule for who sees which runs, on all edges (S-20): a principal sees the runs that it started, and the runs that they
 * delegated; with `runs:read-all`, all runs of the namespace.
 */
export function visibleRuns({ namespace, owner, permissions }: Principal): VisibleRuns {
  return permissions.includes('runs:read-all') ? { namespace } : { namespace, startedBy: owner };
}

/** Identifies a run for the caller. A run that the caller does not see does not exist for it. */
export function runKeyOf(caller: Principal, id: string): RunKey {
  return { ...visibleRuns(caller), id };
}
