import {
  type AgentEvent,
  type AgentMessage,
  type AgentProvider,
  textOfParts,
  textPart,
  TrackedAgent,
} from 'rollcall/plugin';

/** An agent with a loop of its own: it returns the message backwards. */
class MirrorAgent extends TrackedAgent {
  readonly agentType = 'sdk';

  protected async *respond({ parts }: AgentMessage): AsyncGenerator<AgentEvent> {
    const text = [...textOfParts(parts)].toReversed().join('');
    yield { type: 'finished', result: { outcome: 'completed', parts: [textPart(text)], usage: {} } };
  }
}

export const mirror: AgentProvider = {
  name: 'mirror',
  agentType: 'sdk',
  createAgent: async ({ name }) => new MirrorAgent(name),
};
