import { type Message, SendMessageRequest } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import type { Run } from '#rollcall/agent-runtime';
import { permit } from '../auth/auth.guard.js';
import type { A2aCall } from './a2a.call.js';
import { checkedMessage } from './message.key.js';
import { permissionToSend, skillIn } from './message.skill.js';
import { RootSkills } from './root.skills.js';
import { TaskSender } from './task.sender.js';

/** Accepts messages. Rollcall itself answers a message that names one of its skills. Any other message becomes a run. */
@Injectable()
export class MessagesService {
  constructor(
    private readonly sender: TaskSender,
    private readonly skills: RootSkills,
  ) {}

  async send(call: A2aCall, params: SendMessageRequest): Promise<Run | Message> {
    const { agent, caller } = call;
    const json = agent.agentId === null ? SendMessageRequest.toJSON(params) : undefined;
    permit(caller, permissionToSend({ agentId: agent.agentId ?? undefined }, json));
    const asked = skillIn(json);
    const sent = checkedMessage(params);
    return asked ? await this.skills.answer(call, asked, sent) : await this.sender.send(call, sent);
  }
}

export function isMessage(sent: object): sent is Message {
  return 'messageId' in sent;
}
