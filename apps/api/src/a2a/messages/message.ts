import { Extensions, HTTP_EXTENSION_HEADER, Message, type SendMessageRequest } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { plainToInstance } from 'class-transformer';
import { z } from 'zod';
import type { RunDecision, StartRun } from '#rollcall/agent-runtime';
import type { A2aEnvelope, ContentPart } from '#rollcall/providers';
import type { Principal } from '../../auth/principal.js';
import { schemaFailed } from '../../http/validation/validation.errors.js';
import { validated } from '../../http/validation/validation.pipe.js';
import { type KeyedRequest, keyedRequest } from '../../idempotency/idempotency.service.js';
import { toStartRun } from '../../runs/run.commands.js';
import { DecisionBody, StartRunBody } from '../../runs/runs.dto.js';
import type { AddressedAgent } from '../cards/a2a.agents.js';
import type { IncomingCall } from '../incoming.calls.js';

const MAX_ID = 256;
const CONTENTS = ['text', 'raw', 'url', 'data'] as const;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** The fields of the metadata that apply to the start of a run, with the meaning that they have in POST /v1/runs. */
const FIELDS = ['capabilities', 'prefer', 'budget', 'deadline'] as const;
/** The validation of the body requires an input. The real input is set later. */
const PLACEHOLDER = 'input';

const Id = z.string().min(1).max(MAX_ID);
const PartSchema = z
  .looseObject({
    text: z.string().optional(),
    raw: z.string().regex(BASE64, 'must be Base64').optional(),
    url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
    mediaType: z.string().max(MAX_ID).optional(),
    filename: z.string().max(MAX_ID).optional(),
  })
  .refine((part) => CONTENTS.filter((name) => part[name] !== undefined).length === 1, {
    message: `must have exactly one of ${CONTENTS.join(', ')}`,
  });
const MessageSchema = z.looseObject({
  messageId: Id,
  role: z.literal('ROLE_USER'),
  parts: z.array(PartSchema).min(1),
  taskId: z.string().max(MAX_ID).optional(),
  contextId: z.string().max(MAX_ID).optional(),
});
const RequestSchema = z.looseObject({ message: MessageSchema });

export interface CheckedMessage {
  readonly params: SendMessageRequest;
  readonly message: Message;
}

/**
 * Checks a message as the client sent it. The codec of the SDK accepts everything: it fills missing fields with defaults, and drops
 * the second content of a part. Unknown fields are ignored, as the specification requires.
 */
export function checkMessage(request: unknown): void {
  const { error } = RequestSchema.safeParse(request);
  if (error) throw schemaFailed(error, { root: 'params' });
}

/** Checks the decoded message, because `checkMessage` knows only the fields of version 1.0, and the codec fills missing fields. */
export function checkedMessage(params: SendMessageRequest): CheckedMessage {
  const { message, configuration } = params;
  if (!message?.messageId) throw new RequestMalformedError('message.messageId is required.');
  if (message.parts.length === 0) throw new RequestMalformedError('message.parts must have at least one part.');
  checkHistoryLength(configuration?.historyLength);
  return { params, message };
}

/** The `messageId` is the idempotency key of the caller. */
export function keyedMessage(
  { caller, agent, request }: IncomingCall,
  { params, message }: CheckedMessage,
): KeyedRequest {
  const target = { namespace: caller.namespace, agentId: agent.agentId, metadata: params.metadata };
  const content = [target, Message.toJSON(message)];
  return keyedRequest({ protocol: 'a2a', caller, request, key: message.messageId, content });
}

/** The decision in a data part `{"decision": {…}}`. A text is never a decision. */
export function decisionIn(parts: readonly ContentPart[]): RunDecision | undefined {
  for (const part of parts) {
    const decision = part.type === 'data' ? fieldOf(part.data) : undefined;
    if (decision !== undefined) return validated(plainToInstance(DecisionBody, decision));
  }
  return undefined;
}

function fieldOf(data: unknown): object | undefined {
  const { decision } = (data ?? {}) as { decision?: unknown };
  return typeof decision === 'object' && decision !== null && !Array.isArray(decision) ? decision : undefined;
}

/** The target and the limits of a new run, from the agent that the client addresses and from the metadata of its request. */
export function startOf(
  { target }: AddressedAgent,
  caller: Principal,
  metadata: Readonly<Record<string, unknown>>,
): Omit<StartRun, 'input'> {
  const wanted = FIELDS.filter((name) => metadata[name] !== undefined).map((name) => [name, metadata[name]]);
  const body = plainToInstance(StartRunBody, { ...Object.fromEntries(wanted), input: PLACEHOLDER });
  const start = toStartRun(validated(body), caller);
  return target ? { ...start, target } : start;
}

export function checkHistoryLength(historyLength = 0): void {
  if (!Number.isInteger(historyLength) || historyLength < 0)
    throw new RequestMalformedError('historyLength must be 0 or a positive whole number.');
}

/** The fields of the metadata that Rollcall itself reads. */
const OWN_FIELDS: ReadonlySet<string> = new Set([...FIELDS, 'skill']);

/** What the client sent besides the parts, for a remote agent: its metadata, its references to other tasks, and the extensions that it uses. */
export function envelopeOf({ request }: IncomingCall, { params, message }: CheckedMessage): A2aEnvelope | undefined {
  const given = Object.entries({ ...params.metadata, ...message.metadata }).filter(([name]) => !OWN_FIELDS.has(name));
  const metadata = given.length > 0 ? Object.fromEntries(given) : undefined;
  const { referenceTaskIds } = message;
  const requested = Extensions.parseServiceParameter(
    String(request.headers[HTTP_EXTENSION_HEADER.toLowerCase()] ?? ''),
  );
  const extensions = [...new Set([...message.extensions, ...(requested ?? [])])];
  const envelope = {
    ...(metadata && { metadata }),
    ...(referenceTaskIds.length > 0 && { referenceTaskIds }),
    ...(extensions.length > 0 && { extensions }),
  };
  return Object.keys(envelope).length > 0 ? envelope : undefined;
}
