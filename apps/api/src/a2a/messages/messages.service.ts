import { type Message, SendMessageRequest } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import { type Run, type RunMessages, RunTargetUnknownError, type StartRun } from '#rollcall/agent-runtime';
import { fromA2aParts } from '#rollcall/providers';
import { AgentNotFoundError } from '#rollcall/registry';
import { permit } from '../../auth/auth.guard.js';
import { type RunCommand, type RunCommandResult, RunCommands } from '../../runs/run.commands.js';
import type { IncomingCall } from '../incoming.calls.js';
import { TaskPush } from '../push/push.configs.js';
import { A2aTasks, type SentMessage } from '../tasks/a2a.tasks.js';
import { type CheckedMessage, checkedMessage, decisionIn, envelopeOf, keyedMessage, startOf } from './message.js';
import { permissionToSend, RootSkills, skillIn } from './root.skills.js';

/**
 * Accepts messages. Rollcall itself answers a message that names one of its skills. Any other message starts a run, or continues the
 * run that waits for it. The `messageId` is the idempotency key of the caller, so a repeated message returns the run of the first one.
 */
@Injectable()
export class MessagesService {
  constructor(
    private readonly commands: RunCommands,
    private readonly tasks: A2aTasks,
    private readonly push: TaskPush,
    private readonly skills: RootSkills,
  ) {}

  async send(call: IncomingCall, params: SendMessageRequest): Promise<SentMessage | Message> {
    const { agent, caller } = call;
    const json = agent.agentId === null ? SendMessageRequest.toJSON(params) : undefined;
    permit(caller, permissionToSend({ agentId: agent.agentId ?? undefined }, json));
    const asked = skillIn(json);
    const sent = checkedMessage(params);
    if (asked) return await this.skills.answer(call, asked, sent);
    return sent.message.taskId ? await this.continue(call, sent) : await this.start(call, sent);
  }

  private async start(call: IncomingCall, sent: CheckedMessage): Promise<SentMessage> {
    const { messageId } = sent.message;
    const options = { details: { messageId }, also: this.pushOf(call, sent) };
    const started = this.commands.start(commandOf(call, sent), () => requestOf(call, sent), options);
    const { id, run } = await started.catch((error: unknown) => {
      throw error instanceof RunTargetUnknownError ? gone(call) : error; // the agent has left since its card was read
    });
    return run ? { id, known: { run, messages: [firstMessage(run, messageId)] } } : { id };
  }

  private async continue(call: IncomingCall, sent: CheckedMessage): Promise<SentMessage> {
    const { taskId, contextId, messageId, parts: given } = sent.message;
    const run = await this.tasks.get(call, taskId);
    if (contextId && contextId !== run.conversationId)
      throw new RequestMalformedError(
        'The task belongs to another contextId. Leave contextId out, or send that of the task.',
      );
    const command = commandOf(call, sent);
    const also = this.pushOf(call, sent);
    const parts = fromA2aParts(given);
    const decision = decisionIn(parts);
    const { id }: RunCommandResult = decision
      ? await this.commands.decide(command, taskId, decision, also)
      : await this.commands.continue(command, taskId, { parts, messageId, ...withEnvelope(call, sent) }, also);
    return { id };
  }

  /** Stores the push configuration of the message together with the run. */
  private pushOf(call: IncomingCall, { params }: CheckedMessage): (run: Run) => Promise<void> {
    const push = this.push.checked(call, params.configuration?.taskPushNotificationConfig);
    return async (run) => await this.push.addTo(call, run, push);
  }
}

export function isMessage(sent: object): sent is Message {
  return 'messageId' in sent;
}

function commandOf(call: IncomingCall, sent: CheckedMessage): RunCommand {
  return { caller: call.caller, once: keyedMessage(call, sent), stores: 'id' };
}

/** Rejects with AGENT_NOT_FOUND if the agent has left. */
function requestOf(call: IncomingCall, sent: CheckedMessage): StartRun {
  const { agent, caller } = call;
  const { params, message } = sent;
  if (agent.hasLeft) throw gone(call);
  const { messageId, contextId, parts } = message;
  const start = startOf(agent, caller, { ...message.metadata, ...params.metadata });
  const input = fromA2aParts(parts);
  return { ...start, input, messageId, ...withEnvelope(call, sent), ...(contextId && { conversationId: contextId }) };
}

function withEnvelope(call: IncomingCall, sent: CheckedMessage): Pick<StartRun, 'a2a'> {
  const a2a = envelopeOf(call, sent);
  return a2a ? { a2a } : {};
}

/** The step that was stored together with the run. */
function firstMessage({ id: runId, createdAt: at, input: parts }: Run, messageId: string): RunMessages['messages'][0] {
  return { runId, seq: 1, at, step: { type: 'message', parts, messageId } };
}

function gone({ agent }: IncomingCall): AgentNotFoundError {
  return new AgentNotFoundError(agent.agentId ?? '');
}
