import { Message, type SendMessageRequest } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { type KeyedRequest, keyedRequest } from '../../idempotency/idempotency.service.js';
import type { A2aCall } from '../a2a.call.js';
import { checkHistoryLength } from './history.length.js';

export interface CheckedMessage {
  readonly params: SendMessageRequest;
  readonly message: Message;
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
export function keyedMessage({ caller, agent, request }: A2aCall, { params, message }: CheckedMessage): KeyedRequest {
  const target = { namespace: caller.namespace, agentId: agent.agentId, metadata: params.metadata };
  const content = [target, Message.toJSON(message)];
  return keyedRequest({ protocol: 'a2a', caller, request, key: message.messageId, content });
}
