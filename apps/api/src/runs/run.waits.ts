import { Injectable } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Run, type RunKey, RunReader } from '#rollcall/agent-runtime';
import { closeSignal } from '../http/close.signal.js';
import { InFlight, MAX_WAIT_MS } from '../http/server/in-flight.js';
import type { RequestKind } from '../http/server/routes.js';
import { keyedHttpRequest } from '../idempotency/idempotency.service.js';
import { type RunCommand, type RunCommandResult, runKeyOf } from './run.commands.js';
import { type RunView, toRunView } from './run.view.js';
import type { RunQuery } from './runs.dto.js';
import { callerOf } from '../auth/principal.js';

/** RFC 7240: `Prefer: respond-async, wait=10`. Names are case-insensitive, and a value may be quoted. */
const WAIT = /(?:^|,)\s*wait\s*=\s*"?(\d+)"?\s*(?=$|[,;])/i;
const WAITED = 'wait';

/** For a route that cannot wait. */
export const NO_WAIT: RunQuery = { waitMs: 0 };

/** How the REST API answers with a run: at once, or when the run is finished or waits for its caller. */
@Injectable()
export class RunWaits {
  constructor(
    private readonly reader: RunReader,
    private readonly inFlight: InFlight,
  ) {}

  /** Reads the run, and waits for it if the client asks for it. */
  async read(reply: FastifyReply, query: RunQuery, id: string): Promise<RunView> {
    const key = runKeyOf(callerOf(reply.request), id);
    const waitMs = acceptedWait(reply, query);
    return toRunView(waitMs === 0 ? await this.reader.get(key) : await this.settled(reply, { key, waitMs }));
  }

  /**
   * Answers a command with the run, after the wait if the client asks for one. A repetition that does not wait gets the stored response.
   */
  async answer(reply: FastifyReply, query: RunQuery, { id, run, earlier }: RunCommandResult): Promise<RunView> {
    if (earlier) void reply.header('idempotency-replayed', 'true');
    const key = runKeyOf(callerOf(reply.request), id);
    const waitMs = acceptedWait(reply, query);
    if (waitMs === 0) return earlier?.view ?? toRunView(run ?? (await this.reader.get(key)));
    return toRunView(await this.settled(reply, { key, waitMs, known: run }));
  }

  private async settled(
    reply: FastifyReply,
    { key, waitMs, known }: { key: RunKey; waitMs: number; known?: Run },
  ): Promise<Run> {
    this.inFlight.exempt(reply);
    const signal = closeSignal(reply);
    return await this.reader.wait(key, { waitMs, signal, ...(known && { known }) });
  }
}

/** Documents the header for a route that can wait. */
export function PreferHeader(): MethodDecorator {
  return ApiHeader({
    name: 'Prefer',
    required: false,
    description:
      'With `wait=<seconds>`, the request waits up to this time until the run is finished or waits for its caller, and the response ' +
      `has the header \`Preference-Applied: wait\`. The maximum is ${MAX_WAIT_MS / 1_000} seconds. Other preferences are ignored.`,
    schema: { type: 'string', maxLength: 255 },
  });
}

/** The command of a request of the REST API. The time to wait is not part of the command, so a repetition may wait longer. */
export function httpCommandOf(request: FastifyRequest): RunCommand {
  const once = keyedHttpRequest(request, request.url.split('?', 1)[0] ?? '');
  return { caller: callerOf(request), stores: 'view', ...(once && { once }) };
}

/** A request that waits has another limit than a request that is answered at once. */
export function waitsOrRequests({ query, headers }: FastifyRequest): RequestKind {
  const { waitMs = '' } = (query ?? {}) as { waitMs?: unknown };
  const isAsked = waitMs === '' ? preferredWait(headers) > 0 : waitMs !== '0';
  return isAsked ? 'waits' : 'requests';
}

/** `waitMs` takes precedence over the header. A longer preference than the maximum is honoured up to the maximum. */
function acceptedWait(reply: FastifyReply, { waitMs }: RunQuery): number {
  if (waitMs !== undefined) return waitMs;
  const preferredMs = preferredWait(reply.request.headers);
  if (preferredMs > 0) void reply.header('preference-applied', WAITED);
  return preferredMs;
}

function preferredWait({ prefer = '' }: FastifyRequest['headers']): number {
  const seconds = WAIT.exec(String(prefer))?.[1];
  return Math.min(Number(seconds ?? 0) * 1_000, MAX_WAIT_MS);
}
